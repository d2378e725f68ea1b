<?php
/** Makes the calls that the scenario asks for by the PHP client: a line of JSON with the set-up, then one for each. */

declare(strict_types=1);

$setup = json_decode(fgets(STDIN), true);
require "{$setup["folder"]}/php/Switchyard.php";
require "{$setup["folder"]}/php/Webhook.php";

$clients = array_map(fn (string $base) => new Switchyard\Client($base, $setup["secretKey"]), $setup["bases"]);
while (($line = fgets(STDIN)) !== false) {
    $call = json_decode($line, true);
    $client = $clients[$call["client"] ?? ""] ?? null;
    try {
        $answer = $call["name"] === "verifyWebhook"
            ? Switchyard\verifyWebhook(...$call["args"])
            : $client->{$call["name"]}(...$call["args"], ...($call["options"] ?? []));
        $result = ["answer" => $answer instanceof Generator ? iterator_to_array($answer, false) : $answer];
    } catch (Switchyard\ApiError $error) {
        $result = ["message" => $error->getMessage(), "error" => [
            "code" => $error->errorCode,
            "status" => $error->status,
            "temporary" => $error->temporary,
            "param" => $error->param,
            "problems" => $error->problems,
            "tries" => $error->tries,
            "idempotencyKey" => $error->idempotencyKey,
        ]];
    } catch (Switchyard\WebhookVerificationError $error) {
        $result = ["refused" => $error->reason];
    } catch (InvalidArgumentException | TypeError $error) {
        $result = ["mistake" => $error->getMessage()];
    }
    echo json_encode($result), "\n";
}
