"""Makes the calls that the scenario asks for by the Python client: a line of JSON with the set-up, then one for each."""

import json
import sys

setup = json.loads(sys.stdin.readline())
sys.path.insert(0, setup["folder"] + "/python")
from switchyard import ApiError, Switchyard, WebhookVerificationError, verify_webhook  # noqa: E402

clients = {name: Switchyard(base, setup["secretKey"]) for name, base in setup["bases"].items()}


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def answer(call):
    kwargs = call.get("options", {})
    if call["name"] == "verifyWebhook":
        body, headers, secrets = call["args"]
        return verify_webhook(body.encode(), headers, secrets)
    method = getattr(clients[call["client"]], snake(call["name"]))
    args = call["args"]
    if call["name"].startswith(("list", "each")):
        found = method(**args[0])
        return found if isinstance(found, dict) else list(found)
    if "idempotencyKey" in kwargs:
        kwargs = {"idempotency_key": kwargs["idempotencyKey"]}
    return method(*args, **kwargs)


for line in sys.stdin:
    try:
        result = {"answer": answer(json.loads(line))}
    except ApiError as error:
        facts = ("code", "status", "temporary", "param", "problems", "tries", "idempotency_key")
        result = {"error": {name: getattr(error, name) for name in facts}, "message": str(error)}
        result["error"]["idempotencyKey"] = result["error"].pop("idempotency_key")
    except WebhookVerificationError as error:
        result = {"refused": error.reason}
    except (TypeError, ValueError) as error:
        result = {"mistake": str(error)}
    print(json.dumps(result), flush=True)
