#!/bin/bash
# The REST API by hand: opens a session, opens it again with the same key, reads it, lists, and is refused once.
#
#   API_ORIGIN=http://localhost:4400 SECRET_KEY=switchyard_test_sk_… examples/curl/checkout.sh
#
# Needs only curl. A secret key on a command line is visible to everyone on the machine, so curl reads it from a file that is
# no file (--config).
set -euo pipefail
: "${API_ORIGIN:?Set API_ORIGIN, such as http://localhost:4400}" "${SECRET_KEY:?Set SECRET_KEY}"

api() { # path, and further arguments of curl
  curl --silent --show-error --max-time 15 --config <(echo "header = \"Authorization: Bearer $SECRET_KEY\"") \
    --write-out '\nHTTP %{http_code}\n' "$API_ORIGIN/api/v1$1" "${@:2}"
}
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -1; } # the text of a member, well enough for this

order="order-$RANDOM$RANDOM"
create() {
  api /payment-sessions --header 'Content-Type: application/json' --header "Idempotency-Key: $order-1" \
    --data "{\"amountMinor\": $1, \"currency\": \"EUR\", \"orderRef\": \"$order\"}"
}

echo "# Create. Pass sessionId, clientSecret and vault to the page of this one customer, and log none of them."
created=$(create 4900)
session=$(member sessionId <<<"$created")
echo "$session, $(tail -1 <<<"$created")"

echo "# Create again with the same key, as after a lost answer: the same session."
again=$(create 4900)
echo "$(member sessionId <<<"$again"), $(tail -1 <<<"$again")"

echo "# The same key for another amount: refused."
create 5000 | sed 's/"requestId":"[^"]*"/"requestId":"…"/'

echo "# Read: the status, and every attempt at a gateway once there is one."
api "/payment-sessions/$session"

echo "# List the sessions of an order."
api "/payment-sessions?orderRef=$order&pageSize=1"
