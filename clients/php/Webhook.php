<?php
/** Verifies webhooks of Switchyard. PHP 8.1 and newer. */

declare(strict_types=1);

namespace Switchyard;

/**
 * A request to answer with 400: nothing proves that the service sent it. `reason` is missing_header, outside_tolerance,
 * invalid_signature or unreadable_body.
 */
final class WebhookVerificationError extends \RuntimeException
{
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }
}

/**
 * Returns the event of a genuine webhook; throws WebhookVerificationError for any other request. Standard Webhooks 1.0.0,
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 *
 * @param string $body the bytes as they were received: file_get_contents("php://input")
 * @param array<string, string> $headers those of the request, in any case: getallheaders()
 * @param string|list<string> $secrets one signing secret as the service showed it, or two during a rotation
 * @param int $toleranceSeconds most seconds between the webhook's time and now, 1 to 300
 * @throws \InvalidArgumentException for a value that is no signing secret, or a tolerance out of bounds
 */
function verifyWebhook(
    string $body,
    array $headers,
    #[\SensitiveParameter] string|array $secrets,
    int $toleranceSeconds = 300,
): array {
    if ($toleranceSeconds < 1 || $toleranceSeconds > 300) {
        throw new \InvalidArgumentException("toleranceSeconds must be 1 to 300.");
    }
    $keys = array_map(signingKey(...), (array) $secrets);
    if ($keys === []) {
        throw new \InvalidArgumentException("secrets must hold a signing secret.");
    }
    $given = array_change_key_case($headers);
    $of = fn (string $name) => (string) ($given["webhook-$name"] ?? "");
    [$id, $sentAt, $signatures] = [$of("id"), $of("timestamp"), $of("signature")];
    if ($id === "" || $sentAt === "" || $signatures === "") {
        throw new WebhookVerificationError("missing_header", "A header of the webhook's signature is missing.");
    }
    if (!preg_match('/^\d{1,15}$/D', $sentAt) || abs(time() - (int) $sentAt) > $toleranceSeconds) {
        $detail = "The webhook's time is more than $toleranceSeconds seconds from now.";
        throw new WebhookVerificationError("outside_tolerance", $detail);
    }
    $isSigned = false;
    foreach ($keys as $key) {
        foreach (explode(" ", $signatures) as $signature) {
            $isSigned = hash_equals("v1," . signWebhook($key, "$id.$sentAt.$body"), $signature) || $isSigned;
        }
    }
    if (!$isSigned) {
        $detail = "No signature of the webhook is by the signing secret.";
        throw new WebhookVerificationError("invalid_signature", $detail);
    }
    $event = parseObject($body);
    return is_string($event["type"] ?? null)
        ? $event
        : throw new WebhookVerificationError("unreadable_body", "The webhook's body is not an event.");
}

/** Returns the base64 of the HMAC-SHA-256 of `webhook-id.webhook-timestamp.body`. */
function signWebhook(#[\SensitiveParameter] string $key, string $signed): string
{
    return base64_encode(hash_hmac("sha256", $signed, $key, true));
}

function signingKey(#[\SensitiveParameter] string $secret): string
{
    $encoded = strstr($secret, "whsec_");
    $key = $encoded === false ? false : base64_decode(substr($encoded, 6), true);
    // Without the value: an error may be logged.
    return $key !== false && $key !== ""
        ? $key
        : throw new \InvalidArgumentException("secrets must be signing secrets: text that ends in whsec_ and base64.");
}

/** Parses a text as a JSON object; null for any other text. */
function parseObject(string $text): ?array
{
    $value = json_decode($text, false, 512, JSON_BIGINT_AS_STRING);
    return $value instanceof \stdClass ? json_decode($text, true, 512, JSON_BIGINT_AS_STRING) : null;
}
