<?php
/**
 * Calls the REST API of Switchyard and verifies its webhooks. PHP 8.1 and newer, no extension beside openssl.
 *
 *     $payments = new Switchyard\Client("https://pay.example.com/api/v1", getenv("SECRET_KEY"));
 *     $session = $payments->createSession(["amountMinor" => 4900, "currency" => "EUR", "orderRef" => "order-1"]);
 *     $session["clientSecret"];
 *
 * Requests and answers are arrays with the names of the REST API (openapi.json describes them); amounts are whole
 * numbers in minor units. Every call fails with ApiError.
 */

declare(strict_types=1);

namespace Switchyard;

const VERSION = "0.1.0";

/** A call that failed. Decide by `errorCode`; the message is for people. */
final class ApiError extends \RuntimeException
{
    /** First field or parameter that broke a rule. */
    public readonly ?string $param;
    /** Every field that broke a rule: param, code, detail and pointer. */
    public readonly array $problems;
    /** Present state of the session, where a cancellation or a replacement was refused. */
    public readonly ?array $state;
    public readonly ?string $requestId;
    /** Number of times the request was sent. */
    public int $tries = 1;
    /** Key of a creation: with it, the same call can be made again, even much later. */
    public ?string $idempotencyKey = null;

    /**
     * @param string $errorCode one of docs/errors.md; `unexpected_answer` if something other than the service answered.
     *   `unavailable` or `deadline_exceeded` without a status: no answer came
     * @param ?int $status HTTP status; null if no answer came
     * @param bool $temporary true if the same request may succeed later
     * @param ?float $retryAfter seconds that the service asked to wait
     */
    public function __construct(
        string $detail,
        public readonly string $errorCode,
        public readonly ?int $status = null,
        public readonly bool $temporary = false,
        array $refusal = [],
        ?string $requestId = null,
        public readonly ?float $retryAfter = null,
    ) {
        $this->problems = $refusal["errors"] ?? [];
        $coded = array_filter($this->problems, fn ($one) => ($one["code"] ?? null) === $errorCode);
        $leading = reset($coded) ?: ($this->problems[0] ?? null);
        $this->param = $refusal["param"] ?? $leading["param"] ?? null;
        $this->state = $refusal["state"] ?? null;
        $this->requestId = $refusal["requestId"] ?? $requestId;
        parent::__construct($this->describe($detail, $leading));
    }

    /** Returns the detail with the first field that broke a rule, so that a log line alone says what to change. */
    private function describe(string $detail, ?array $leading): string
    {
        $named = array_filter($this->problems, fn ($one) => ($one["param"] ?? null) === $this->param);
        $first = reset($named) ?: $leading;
        $field = $first["param"] ?? $this->param;
        $rule = $first["detail"] ?? "";
        if ($field === null || $field === "" || ($rule !== "" && str_contains($detail, $rule))) {
            return $detail;
        }
        $others = count($this->problems) > 1 ? " (and " . (count($this->problems) - 1) . " more)" : "";
        $withoutStop = fn (string $text) => str_ends_with($text, ".") ? substr($text, 0, -1) : $text;
        return $withoutStop($detail) . ": $field" . ($rule === "" ? "" : " " . $withoutStop($rule)) . "$others.";
    }
}

/**
 * Repeats a call after a pause when no answer came, after 408, 429 and 5xx other than 501, and after 409
 * `idempotency_in_progress`; a creation always with the same Idempotency-Key, so that it makes one session.
 */
final class Client
{
    // Captures, refunds and charges wait up to 20 s for the gateway.
    private const GATEWAY_TRY_SECONDS = 25.0;
    private const PAUSE_FIRST_SECONDS = 0.25;
    private const PAUSE_LONGEST_SECONDS = 5.0;
    // If the service asks to wait longer than this, the caller does better to get the error.
    private const RETRY_AFTER_SECONDS_MAX = 10.0;
    // A page of 100 sessions is well under 1 MiB.
    private const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

    private readonly string $restBase;
    private readonly string $origin;

    /**
     * @param ?float $tryTimeout seconds for one request; 15, or 25 for calls that wait for a gateway
     * @param float $timeout seconds for a call with its repeats
     * @param int $triesMax requests of a call
     * @param array $tls options of PHP's "ssl" stream context, such as ["cafile" => "/etc/ssl/own.pem"]
     * @throws \InvalidArgumentException for an address, key or bound that cannot be one
     */
    public function __construct(
        string $restBase,
        #[\SensitiveParameter] private readonly string $secretKey,
        private readonly ?float $tryTimeout = null,
        private readonly float $timeout = 45.0,
        private readonly int $triesMax = 4,
        private readonly array $tls = [],
    ) {
        $url = parse_url($restBase) ?: [];
        $isPlain = isset($url["host"]) && array_intersect_key($url, array_flip(["user", "pass", "query", "fragment"])) === [];
        if (!$isPlain || !in_array($url["scheme"] ?? "", ["http", "https"], true)) {
            throw new \InvalidArgumentException("restBase must be an http or https address without user, query and fragment.");
        }
        foreach (["tryTimeout" => $tryTimeout ?? 15, "timeout" => $timeout, "triesMax" => $triesMax] as $name => $value) {
            if (!($value > 0)) {
                throw new \InvalidArgumentException("$name must be more than 0.");
            }
        }
        $this->restBase = rtrim($restBase, "/");
        $this->origin = "{$url["scheme"]}://{$url["host"]}" . (isset($url["port"]) ? ":{$url["port"]}" : "");
        self::headerText("secretKey", $secretKey);
    }

    /** Keeps the key out of var_dump and print_r. */
    public function __debugInfo(): array
    {
        return ["restBase" => $this->restBase];
    }

    /**
     * Creates a session. Choose a key, such as the order's number with that of the payment attempt: every call with it
     * returns the first session for 24 hours. Without one, a key is made for this call alone.
     */
    public function createSession(array $session, ?string $idempotencyKey = null): array
    {
        return $this->create("/payment-sessions", $session, $idempotencyKey);
    }

    /** Creates a session that stores a card without a payment. The key is as that of createSession. */
    public function createSetup(array $setup, ?string $idempotencyKey = null): array
    {
        return $this->create("/setup-sessions", $setup, $idempotencyKey);
    }

    /** Returns a session with its attempt trail. */
    public function getSession(string $sessionId): array
    {
        return $this->call("GET", self::path("payment-sessions", $sessionId), "sessionId");
    }

    /** Returns one page of sessions, newest first; `pageToken` continues after a page with the same filters. */
    public function listSessions(array $filters = []): array
    {
        return $this->call("GET", "/payment-sessions" . self::query($filters), "paymentSessions");
    }

    /** Yields every matching session, newest first, and reads pages as they are needed. */
    public function eachSession(array $filters = []): \Generator
    {
        $token = null;
        do {
            $page = $this->listSessions([...$filters, "pageToken" => $token]);
            foreach ($page["paymentSessions"] as $session) {
                yield $session;
            }
            $token = $page["nextPageToken"] ?? null;
        } while ($token !== null);
    }

    /** Captures a held payment, whole or in part. A repeat with the same amount captures nothing twice. */
    public function captureSession(string $sessionId, ?int $amountMinor = null): array
    {
        $body = $amountMinor === null ? [] : ["amountMinor" => $amountMinor];
        return $this->call("POST", self::path("payment-sessions", $sessionId, "capture"), "sessionId", $body, waits: true);
    }

    /** Cancels a session that was not submitted, or a held payment. A repeat returns it as it stands. */
    public function cancelSession(string $sessionId): array
    {
        return $this->call("POST", self::path("payment-sessions", $sessionId, "cancel"), "sessionId");
    }

    /**
     * Refunds a captured payment, whole or in part. The same key names the same refund for ever, so a repeat refunds
     * nothing twice: choose the id of the return in your system.
     */
    public function createRefund(string $sessionId, array $refund, string $idempotencyKey): array
    {
        $path = self::path("payment-sessions", $sessionId, "refunds");
        return $this->call("POST", $path, "refundId", $refund, $idempotencyKey, waits: true);
    }

    /** Returns a refund. */
    public function getRefund(string $sessionId, string $refundId): array
    {
        return $this->call("GET", self::path("payment-sessions", $sessionId, "refunds", $refundId), "refundId");
    }

    /** Returns one page of disputes, newest first. */
    public function listDisputes(array $filters = []): array
    {
        return $this->call("GET", "/disputes" . self::query($filters), "disputes");
    }

    /** Returns a dispute with its movements of money. */
    public function getDispute(string $disputeId): array
    {
        return $this->call("GET", self::path("disputes", $disputeId), "disputeId");
    }

    /** Returns one page of stored cards, newest first. */
    public function listPaymentMethods(array $filters = []): array
    {
        return $this->call("GET", "/payment-methods" . self::query($filters), "paymentMethods");
    }

    /** Returns a stored card. */
    public function getPaymentMethod(string $paymentMethodId): array
    {
        return $this->call("GET", self::path("payment-methods", $paymentMethodId), "paymentMethodId");
    }

    /** Deletes a stored card for ever. A repeat is harmless. */
    public function deletePaymentMethod(string $paymentMethodId): void
    {
        $this->call("DELETE", self::path("payment-methods", $paymentMethodId), null);
    }

    /** Returns one page of agreements, newest first. */
    public function listAgreements(array $filters = []): array
    {
        return $this->call("GET", "/agreements" . self::query($filters), "agreements");
    }

    /** Returns an agreement with its charges. */
    public function getAgreement(string $agreementId): array
    {
        return $this->call("GET", self::path("agreements", $agreementId), "agreementId");
    }

    /** Ends an agreement for ever. A repeat returns it as it stands. */
    public function cancelAgreement(string $agreementId): array
    {
        return $this->call("POST", self::path("agreements", $agreementId, "cancel"), "agreementId");
    }

    /**
     * Charges an agreement without the customer, and waits for the gateway. The same key names the same try for ever,
     * and a charge is paid once at most, however often it is tried.
     */
    public function chargeAgreement(string $agreementId, array $charge, string $idempotencyKey): array
    {
        $path = self::path("agreements", $agreementId, "payment-sessions");
        return $this->call("POST", $path, "sessionId", $charge, $idempotencyKey, waits: true);
    }

    /** Makes the link by which the customer pays a charge that is not paid. Send it to the customer alone. */
    public function createRecoveryLink(string $agreementId, array $link): array
    {
        return $this->call("POST", self::path("agreements", $agreementId, "recovery-links"), "url", $link);
    }

    private function create(string $path, array $body, ?string $idempotencyKey): array
    {
        $key = $idempotencyKey ?? bin2hex(random_bytes(16));
        try {
            return $this->call("POST", $path, "clientSecret", $body, $key);
        } catch (ApiError $error) {
            $error->idempotencyKey = $key;
            throw $error;
        }
    }

    /** `$member` is always present in an answer of the service; without it, another server has answered. */
    private function call(
        string $method,
        string $path,
        ?string $member,
        ?array $body = null,
        ?string $idempotencyKey = null,
        bool $waits = false,
    ): array {
        $headers = ["Accept: application/json", "Authorization: Bearer {$this->secretKey}", "Connection: close"];
        if ($idempotencyKey !== null) {
            $headers[] = "Idempotency-Key: " . self::headerText("idempotencyKey", $idempotencyKey);
        }
        $text = null;
        if ($body !== null) {
            $headers[] = "Content-Type: application/json";
            $text = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION);
        }
        $trySeconds = $this->tryTimeout ?? ($waits ? self::GATEWAY_TRY_SECONDS : 15.0);
        $endsAt = self::now() + $this->timeout;
        for ($tries = 1; ; $tries++) {
            try {
                $seconds = min($trySeconds, max($endsAt - self::now(), 0.001));
                [$status, $fields, $answer] = $this->exchange($method, $path, $headers, $text, $seconds);
                return self::read($status, $fields, $answer, $member);
            } catch (ApiError $error) {
                $error->tries = $tries;
                $pause = self::pauseSeconds($error, $tries);
                if ($pause === null || $tries >= $this->triesMax || $pause >= $endsAt - self::now()) {
                    throw $error;
                }
            }
            usleep((int) ($pause * 1_000_000));
        }
    }

    /** @return array{int, array<string, string>, string} */
    private function exchange(string $method, string $path, array $headers, ?string $body, float $seconds): array
    {
        $endsAt = self::now() + $seconds;
        $http = [
            "method" => $method,
            "header" => $headers,
            "timeout" => $seconds,
            "ignore_errors" => true,
            // The key in the headers is only for this address.
            "follow_location" => 0,
            "protocol_version" => 1.1,
            "user_agent" => "switchyard-php/" . VERSION,
            ...($body === null ? [] : ["content" => $body]),
        ];
        $stream = @fopen($this->restBase . $path, "r", false, stream_context_create(["http" => $http, "ssl" => $this->tls]));
        if ($stream === false) {
            throw $this->noAnswer($endsAt, $seconds, "the connection failed");
        }
        try {
            $text = "";
            while (!feof($stream) && strlen($text) <= self::ANSWER_BYTES_MAX) {
                $left = $endsAt - self::now();
                if ($left <= 0) {
                    throw $this->noAnswer($endsAt, $seconds, "");
                }
                stream_set_timeout($stream, (int) $left, (int) (fmod($left, 1) * 1_000_000));
                $text .= (string) fread($stream, 65_536);
            }
            [$status, $fields] = self::head(stream_get_meta_data($stream)["wrapper_data"] ?? []);
        } finally {
            fclose($stream);
        }
        $length = isset($fields["transfer-encoding"]) ? null : ($fields["content-length"] ?? null);
        if ($length !== null && strlen($text) < (int) $length) {
            throw $this->noAnswer($endsAt, $seconds, "the connection broke in the middle of the answer");
        }
        return [$status, $fields, $text];
    }

    private function noAnswer(float $endsAt, float $seconds, string $reason): ApiError
    {
        $isLate = self::now() >= $endsAt;
        $why = $isLate ? "it took longer than $seconds s" : $reason;
        $code = $isLate ? "deadline_exceeded" : "unavailable";
        return new ApiError("{$this->origin} gave no answer: $why.", $code, temporary: true);
    }

    /** Returns the status and the fields of the last head: a 100 Continue may precede it. */
    private static function head(array $lines): array
    {
        [$status, $fields] = [0, []];
        foreach ($lines as $line) {
            if (preg_match('/^HTTP\/\S+ (\d{3})/', $line, $found)) {
                [$status, $fields] = [(int) $found[1], []];
            } elseif (str_contains($line, ":")) {
                [$name, $value] = explode(":", $line, 2);
                $fields[strtolower($name)] = trim($value);
            }
        }
        return [$status, $fields];
    }

    /** Returns the body of an answer of the service. Throws ApiError for a refusal and for another server's answer. */
    private static function read(int $status, array $fields, string $text, ?string $member): array
    {
        $body = strlen($text) <= self::ANSWER_BYTES_MAX ? parseObject($text) : null;
        $requestId = $fields["request-id"] ?? null;
        if ($status >= 200 && $status < 300) {
            if ($body !== null && ($member === null || isset($body[$member]))) {
                return $body;
            }
            $detail = "The answer is HTTP $status, but not the service's.";
            throw new ApiError($detail, "unexpected_answer", $status, requestId: $requestId);
        }
        // A proxy in between may answer in another format.
        $refusal = is_string($body["code"] ?? null) && is_string($body["detail"] ?? null) ? $body : [];
        $redirect = $status >= 300 && $status < 400 ? ", a redirect, which is not followed" : "";
        $code = $refusal["code"] ?? "unexpected_answer";
        // 501 is permanent; a conflict is temporary only while the first request with the key is under way.
        $isTemporary = $status === 409
            ? $code === "idempotency_in_progress"
            : $status === 408 || $status === 429 || ($status >= 500 && $status !== 501);
        $detail = $refusal["detail"] ?? "The answer is HTTP $status$redirect.";
        $retryAfter = self::retryAfter($fields["retry-after"] ?? null);
        throw new ApiError($detail, $code, $status, $isTemporary, $refusal, $requestId, $retryAfter);
    }

    /**
     * Returns the pause after the failed request number `$tries`, or null when another one is of no use. Full jitter, so
     * that clients that failed together do not return together; never shorter than the service asked for.
     */
    private static function pauseSeconds(ApiError $error, int $tries): ?float
    {
        $asked = $error->retryAfter ?? 0.0;
        if (!$error->temporary || $asked > self::RETRY_AFTER_SECONDS_MAX) {
            return null;
        }
        $longest = min(self::PAUSE_LONGEST_SECONDS, self::PAUSE_FIRST_SECONDS * 2 ** ($tries - 1));
        return $asked + (random_int(0, 1_000_000) / 1_000_000) * $longest;
    }

    /** Parses Retry-After: seconds or a date (RFC 9110, 10.2.3). */
    private static function retryAfter(?string $field): ?float
    {
        if ($field === null || preg_match('/^\d+$/', $field)) {
            return $field === null ? null : (float) $field;
        }
        $at = strtotime($field);
        return $at === false || $at < time() ? null : (float) ($at - time());
    }

    private static function headerText(string $name, #[\SensitiveParameter] string $text): string
    {
        // Without the text: an error may be logged.
        return preg_match('/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/D', $text)
            ? $text
            : throw new \InvalidArgumentException("$name must be printable ASCII, without a space or a line's end around it.");
    }

    private static function path(string ...$parts): string
    {
        return implode("", array_map(fn ($part) => "/" . rawurlencode($part), $parts));
    }

    private static function query(array $filters): string
    {
        $textOf = fn ($value) => match (true) {
            is_bool($value) => $value ? "true" : "false",
            $value instanceof \DateTimeInterface => gmdate("Y-m-d\TH:i:s", $value->getTimestamp()) . $value->format(".v\Z"),
            default => (string) $value,
        };
        $given = array_map($textOf, array_filter($filters, fn ($value) => $value !== null));
        return $given === [] ? "" : "?" . http_build_query($given, "", "&", PHP_QUERY_RFC3986);
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
