/**
 * Bounds that concern several folders or depend on each other, with their reasons and the relations that must hold. A
 * bound that only one file uses is in that file. Pure.
 */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Longest body of a request: a session is under 1 KiB, so 64 KiB leaves room and stops floods. */
export const bodyBytesMax = 64 * 1024;
/** Longest body with a file for a dispute: 2 MiB in Base64, and its names. No other body is so long. */
export const fileBodyBytesMax = 3 * 1024 * 1024;
/** Such bodies that a server reads at once: 12 MiB of memory. */
export const fileBodiesMax = 4;
/** Longest gateway notification: Adyen batches a few KiB each, and sends a refused batch again. */
export const notificationBytesMax = 256 * 1024;
/**
 * Longest reference of a gateway for a payment, as Stripe promises for its ids (https://docs.stripe.com/upgrades,
 * 2026). An index has room for 2.7 KB: a longer one could be stored in a gateway notification but never acted on.
 */
export const gatewayReferenceCharactersMax = 255;
/** Node's own default for all headers together, stated so that it is ours. */
export const headerBytesMax = 16 * 1024;
/** Headers come in one packet from an honest client; ten seconds ends a slowloris. */
export const headersTimeoutMs = 10 * second;
/** Longest time for a whole request of at most 64 KiB, even over a slow mobile connection. */
export const requestTimeoutMs = 30 * second;
/** Interval at which a server checks for connections that take longer: each gets at most this much more. */
export const connectionCheckMs = 5 * second;
/**
 * Idle connections are kept longer than balancers usually keep theirs (60 s), which would otherwise send into a closed
 * one.
 */
export const keepAliveMs = 65 * second;
/**
 * Longest silence of a connection in use, in both directions: its client has stopped reading, and its answer is dropped
 * after at most twice this time.
 */
export const silenceTimeoutMs = minute;
/** Time for a refused client to read the answer; then its connection is closed, whatever it still sends. */
export const lingerMs = 2 * second;
/**
 * Bytes that are still read of a refused body, so that a client that writes before it reads gets the answer: two of our
 * longest bodies.
 */
export const refusedBodyBytesMax = 128 * 1024;
/** Connections of a server: 256 MiB with the longest body in each; an idle one takes a few KiB. */
export const connectionsMax = 4_000;
/** Requests of one HTTP/1.1 connection that wait for answers: balancers and browsers send one at a time. */
export const pipelinedRequestsMax = 16;
/** Headers of a request: a browser sends about twenty, proxies add some. */
export const headersMax = 100;

/** Longest and default deadline of a call by gRPC or Connect: submitting waits for 20 s. */
export const rpcDeadlineMs = 30 * second;
/** Longest age of an answer about readiness: the databases are checked once in this time, however many clients ask. */
export const readinessFreshMs = second;
/** Interval at which a health watch checks for a change: about as often as a balancer that polls. */
export const healthWatchEveryMs = second;
/** Concurrent health watches: one for each client of an installation, at about a KiB. */
export const healthWatchersMax = 1_000;
/** Interval at which certificate files are checked: they are renewed days before they expire. */
export const certificateLookEveryMs = 10 * second;
/**
 * Bounds of the shutdown grace: the time for which a stopping process still accepts calls, so that balancers notice.
 */
export const shutdownGraceBounds = { min: 0, default: 2 * second, max: 10 * second } as const;

/** Settings of node's HTTP/2 for the internal port. */
export const internalHttp2 = {
  settings: {
    // Concurrent calls of one client. A body is at most 64 KiB, so one connection holds at most 6.4 MiB of bodies.
    maxConcurrentStreams: 100,
    // The same as on the public port.
    maxHeaderListSize: headerBytesMax,
    // Bytes of one stream that a client may send unread: a whole body, so that no call waits for a window.
    initialWindowSize: bodyBytesMax,
    enablePush: false,
  },
  // Headers of one call: ours need about fifteen.
  maxHeaderListPairs: 64,
  // MiB of one connection: buffers of its streams and its header table. Beyond them new streams are refused.
  maxSessionMemory: 8,
  // Calls that a client may reset at once, and per second from then on (CVE-2023-44487): a client that gives up calls
  // at their deadline stays below it, one that only opens and resets is disconnected.
  streamResetBurst: 200,
  streamResetRate: 100,
  // Frames that violate the protocol, and streams opened beyond the limit: a correct client sends none.
  maxSessionInvalidFrames: 20,
  maxSessionRejectedStreams: 100,
  // Entries of one SETTINGS frame: the protocol has nine.
  maxSettings: 16,
} as const;

/** Connections of the internal port: internal services and balancers keep a few each. */
export const internalConnections = {
  // Idle ones take less than 40 KiB each, so at most 80 MiB; beyond this number, the one idle for longest is closed.
  max: 2_000,
  // Interval at which they are checked, and time for a peer to answer a ping.
  lookEveryMs: 20 * second,
  // Longer than a pool of a client needs to shrink, shorter than NAT tables forget (RFC 5382: two hours; many: 5 min).
  idleMs: 4 * minute,
  // After this time a client reconnects, and so finds servers that were added meanwhile.
  ageMs: 30 * minute,
  // Time for running calls to finish then: a call lasts no longer.
  ageGraceMs: rpcDeadlineMs,
  // Time for running calls to finish at the end of the process: submit calls are answered at once, statements take
  // milliseconds.
  closeWithinMs: 8 * second,
} as const;

/** Longest wait of a repeat for the first request with its Idempotency-Key. */
export const idempotencyWaitMs = 5 * second;
/** Lifetime of an Idempotency-Key: a merchant's retry queue is drained within a day. */
export const idempotencyLifetimeMs = 24 * hour;

/** Lifetime of a session: a checkout page that is left open this long has been abandoned. */
export const sessionLifetimeMs = 30 * minute;
/** Time after a session's end for which the client secret still reads it, for a page that is reloaded late. */
export const clientSecretReadMs = 24 * hour;

/** Lifetime of a sign-in, a working day and a night: a member signs in again the next morning. */
export const signInLifetimeMs = day;
/**
 * Time for which a browser stays known without a sign-in: a quarter of a year, for people who sign in once a quarter.
 */
export const knownBrowserLifetimeMs = 92 * day;
/** Audit trail: PCI DSS v4.0.1, 10.5.1, requires a year; three years cover a dispute of the year before last. */
export const auditRetentionMs = 1_096 * day;

/** Most gateways that are called for one payment: a customer waits for every one. */
export const attemptsMax = 5;
/**
 * Bounds of an operator's timing. An attempt: slower than the slowest gateways that publish a figure, and shorter than
 * a lease. The budget: a customer's whole wait before the page says "we are confirming your payment". The vault keeps a
 * card for 15 minutes: for the budget, the time that the customer has to act, and a minute.
 */
export const timingBounds = {
  attemptTimeoutMs: { min: second, default: 10 * second, max: 14 * second },
  submissionBudgetMs: { min: 5 * second, default: 45 * second, max: 4 * minute },
} as const;
/** Time that a customer has to act, over all challenges of a session: the longest that banks give. */
export const customerTimeMs = 10 * minute;
/** Time before a gateway's end of a hold at which ours ends: a capture and its repeats have it. */
export const holdMarginMs = 6 * hour;
/**
 * Bounds of `captureBy` after the end of the submission: a minute, for clocks differ; and the longest hold of a gateway,
 * 7 days at Stripe, less the margin.
 */
export const captureByAfterMs = { min: minute, max: 7 * day - holdMarginMs } as const;
/** Time before the end of a hold at which its merchant is reminded; shorter holds have no reminder. */
export const captureDueMs = day;
/** Interval between looks at a hold: it may end early, or be captured there by a person. */
export const holdLookMs = day;
/** The same interval after an answer that left it open. */
export const holdLookAgainMs = hour;
/** Time for which a hold may wait past its end before an alarm: a worker ends it within seconds. */
export const holdAlarmMs = hour;
/** Interval between look-ups of an open action at its gateway: a customer's return makes it due at once. */
export const actionLookMs = 30 * second;
/**
 * Margin before the end of the budget in which no attempt is opened: its transaction would be refused, and an answer
 * would be lost with it.
 */
export const openingMarginMs = 500;
/**
 * A process that holds a lease and is silent for this time counts as dead. It renews the lease at every step, and no
 * step is longer than an attempt.
 */
export const leaseMs = 20 * second;
/** A step renews a lease only when this much of it is used, so a payment of milliseconds writes it once. */
export const leaseUsedMs = 500;

/** A connection is left out when this many calls in a row failed: fewer could be one broken card or one lost packet. */
export const breakerCalls = 5;
/** Window within which these failures count: older ones say nothing about the gateway's current state. */
export const breakerWindowMs = minute;
/**
 * Time for which the connection is then left out: it spares customers a wait, and a recovered gateway is found soon.
 */
export const breakerOpenMs = 30 * second;
/**
 * Failing connections that one process remembers, some hundred bytes each; beyond this number the oldest is dropped.
 */
export const breakerConnectionsMax = 10_000;

/**
 * Longest wait of a submit call for the outcome before the widget polls: under the 30 s after which proxies give up.
 */
export const submitWaitMs = 20 * second;
/** Interval at which a waiting submit call reads a session that another process works on. */
export const submitPollMs = 250;
/**
 * First and longest pause between repeats of the same capture or void; pauses double in between, and repeats never end.
 */
export const repeatFirstMs = second;
export const repeatLongestMs = 5 * minute;
/** Timeout of one capture, void or look-up. */
export const followUpTimeoutMs = 10 * second;

/**
 * Timeout of an external vault that opens a session for a page while a merchant's backend waits. It is shorter than a
 * repeat's wait for the first request; otherwise a key would seem to be in progress when the vault is down.
 */
export const vaultGrantTimeoutMs = 3 * second;
/**
 * Timeout of an external vault that describes a token, as part of the attempt's own time; before that nothing is sent
 * to a gateway.
 */
export const vaultReadTimeoutMs = 2 * second;
/**
 * Time beyond our own wait for which it may hold a request before the gateway gets it. Hyperswitch ends its own calls
 * after 30 s (https://github.com/juspay/hyperswitch, REQUEST_TIME_OUT, 2026); twice that, because it is not a promise.
 */
export const vaultLateMs = minute;
/**
 * Time for which the owner of an external vault's session is stored: the longest lifetime of our sessions, plus an
 * hour.
 */
export const vaultSessionLifetimeMs = 25 * hour;
/**
 * Time by which a grant outlives its session: a payment submitted at the last moment may try gateways for its whole
 * budget, and its customer may take all the time there is.
 */
export const vaultGraceMs = timingBounds.submissionBudgetMs.max + customerTimeMs + minute;
/** Longest grant and token of an external vault: its documented ones have some hundred characters. */
export const vaultTextCharactersMax = 4_096;

/** Age of an unanswered void that raises an alarm: an hour is more than a hiccup, and the customer sees the hold. */
export const voidAlarmMs = hour;
/**
 * Age of an unanswered capture that raises an alarm: captures are answered in a second or two, and a person should know
 * before the customer asks.
 */
export const captureAlarmMs = minute;
/** Time past its deadline for which an open action raises an alarm: a worker gives it up within a second or two. */
export const actionAlarmMs = minute;
/**
 * Age of an unconfirmed capture that raises an alarm. An accepted capture is reported within hours. Three days leave
 * room for a weekend, and end well before the hold, which most cards keep for seven days: while it exists, the amount
 * can still be captured again.
 */
export const confirmationAlarmMs = 3 * day;
/**
 * After a person closes a row, the same matter is reported once a day while it lasts. Sweeps find it every few seconds,
 * and a matter that was closed by mistake, or for a wrong reason, must not be forgotten.
 */
export const workItemQuietMs = day;

export const reconciliationEveryMs = hour;
/**
 * Age of the changes that a pass includes: a day, so each attempt is reconciled many times, even after a day's outage.
 */
export const reconciliationWindowMs = 24 * hour;
/** Recent changes of this age are left to the next pass: a gateway's own record may lag behind its answers. */
export const reconciliationLagMs = minute;
/**
 * Attempts of a pass that a worker leases at once, and its concurrent reads: gateways limit both, and payments go
 * first.
 */
export const reconciliationSliceAttempts = 50;
export const reconciliationConcurrency = 5;
/** Lease of a slice: one that is not counted by then belonged to a worker that is gone. */
export const reconciliationLeaseMs = 3 * minute;

/** Interval of the audit, which one worker runs once a minute: the loops of several workers differ a little. */
export const auditEveryMs = 50 * second;
/** Sessions that one turn of the audit checks: a statement of some hundred milliseconds that nothing waits for. */
export const auditSessionsMax = 5_000;
/** Age of the changes that a turn of the audit includes: several turns, so that none is missed. */
export const auditLookBackMs = 5 * minute;

/**
 * Payments in progress from which on a process takes over no lapsed session; new submissions are not limited by it. Each
 * takes a few KiB.
 */
export const submissionsInFlightMax = 256;

/** Tries of one renewal. Networks allow 10 declined ones of a card in a day and 15 in a month, and a customer has several renewals. */
export const renewalTriesMax = 8;
/**
 * Renewals in progress from which on a process begins no other: half of its places, so that a batch leaves room for
 * checkouts. Merchants share them, so that the batch of one leaves room for another.
 */
export const renewalsInFlightMax = submissionsInFlightMax / 2;
/**
 * Time budget of a renewal for which gateways are first searched for attempts that a restore has lost: notifications
 * take minutes, and the vault keeps its token for 15 minutes.
 */
export const doubtfulRenewalBudgetMs = 10 * minute;

/** Largest and default size of a list page. */
export const pageSizeMax = 100;
export const pageSizeDefault = 20;
/** Lifetime of page tokens: they outlive a working day, not a key rotation. */
export const pageTokenLifetimeMs = 24 * hour;

/**
 * Bounds of an operator's request limits for one merchant in one environment. A backend at a steady 100 a second
 * creates eight million sessions a day; the burst is two seconds of that.
 */
export const requestLimitBounds = {
  perSecond: { min: 1, default: 100, max: 100_000 },
  burst: { min: 1, default: 200, max: 1_000_000 },
} as const;
/** A process reserves a merchant's requests of this time in advance, so that one statement pays for many of them, */
export const requestStockMs = 200;
/** and never more than this part of the burst, so that the reserves of several processes leave most of it to share. */
export const requestStockShare = 1 / 10;
/** Unused reserves lapse after this time; a merchant that calls occasionally costs at most one statement in it. */
export const requestStockLifetimeMs = 10 * second;
/**
 * Requests of one merchant's customers that wait in a process for their turn: each keeps its connection, and a process
 * has a few thousand.
 */
export const waitingRequestsMax = 256;
/** Longest wait for a turn: a page gives up after ten seconds. */
export const turnWithinMs = 5 * second;
/** Time for which requests are accepted uncounted after the database did not answer, before the next query. */
export const requestRecountMs = second;
/**
 * Buckets that one process remembers, some hundred bytes each; beyond this number the one idle for longest is dropped.
 */
export const requestBucketsMax = 10_000;
/** Keys and sessions whose merchant one process remembers, to refuse requests without a query; otherwise as above. */
export const requestCredentialsMax = 20_000;

/**
 * Timeout of a webhook, from the first packet to the end of the answer; a receiver that needs longer should queue and
 * answer at once.
 */
export const postTimeoutMs = 15 * second;
/**
 * Lease of a delivery: longer than any delivery attempt and its recording, so only a dead worker's deliveries are taken
 * over.
 */
export const deliveryLeaseMs = 35 * second;
/** Timeout of one command to a mail server: it answers in a second or two, a bit later with greylisting or checks. */
export const mailStepTimeoutMs = 10 * second;
/** Timeout of a whole mail: two KiB are sent in a few steps. */
export const mailTimeoutMs = 15 * second;
/** Addresses for a merchant's alerts, mailed one after another: a team, and a list for each shift. */
const alertAddressesMax = 10;
/**
 * First and longest pause before an alert is sent again; pauses double in between. A worker leases the alert for that
 * time.
 */
export const alertRepeatFirstMs = 5 * minute;
export const alertRepeatLongestMs = hour;
/** Attempts to send an alert: with those pauses more than eight hours, so a mail server may be down for a night. */
export const alertAttemptsMax = 12;
/**
 * Alerts that are sent in a day, each with its end: to one address or chat, one for each of a merchant's endpoints and
 * some more; of one merchant, to all of its ten addresses.
 */
export const alertMailsADay = { addressMax: 20, merchantMax: 200 } as const;
/** Longest age of an alert that is sent: after a day it is outdated and stays in the list only. */
export const alertNewsMs = day;
/** Shortest time from the end of an alert to the next one about the same matter, so that one that comes and goes does not flood. */
export const alertPauseMs = hour;

/** Connections of one process to one database: about as many as two cores keep busy. */
export const databaseConnectionsMax = 16;
/**
 * Timeout of a statement: ours take milliseconds; one that takes this long is stuck and must not hold its connection.
 */
export const statementTimeoutMs = 15 * second;
/**
 * Longest wait for a connection: one becomes free within milliseconds; a caller that waits this long should retry
 * later.
 */
export const connectionWaitMs = 5 * second;
/**
 * Silence after which a server counts as gone: it did not even report that it stopped a statement. Without this a loop
 * would wait forever.
 */
export const databaseSilenceMs = 20 * second;
/**
 * Longest idle time inside a transaction: ours are never idle for long, so the process of such a one is stopped, and
 * its locks must not block others.
 */
export const idleInTransactionMs = 10 * second;
/** Longest transaction: ours take milliseconds, and events are read by time within this bound (src/events/feed). */
export const transactionTimeoutMs = 5 * minute;

assert(requestTimeoutMs > headersTimeoutMs, "the headers are a part of the request");
assert(
  silenceTimeoutMs > requestTimeoutMs + connectionCheckMs && silenceTimeoutMs > submitWaitMs + followUpTimeoutMs,
  "a request that is too slow gets a response, and a submit call that waits for its outcome is not cut off",
);
assert(timingBounds.attemptTimeoutMs.default > 2 * vaultReadTimeoutMs, "the gateway has most of an attempt's time");
assert(
  idempotencyWaitMs > vaultGrantTimeoutMs,
  "a creation is refused before its repeats get `idempotency_in_progress`",
);
assert(leaseMs > idleInTransactionMs, "a stopped process holds no lock any more when its lease lapses");
assert(
  reconciliationLeaseMs > (reconciliationSliceAttempts / reconciliationConcurrency) * followUpTimeoutMs,
  "a slice is counted under its lease, however slow the gateway",
);
assert(reconciliationWindowMs > 2 * reconciliationEveryMs, "what one pass leaves out the next one has");
assert(auditLookBackMs > 2 * auditEveryMs, "the audit sees every change");
assert(leaseMs - leaseUsedMs > followUpTimeoutMs, "a lease outlives a capture, a void and a look-up");
assert(
  timingBounds.submissionBudgetMs.default > timingBounds.attemptTimeoutMs.default,
  "the budget has room for an attempt",
);
assert(
  leaseMs - leaseUsedMs > timingBounds.attemptTimeoutMs.max + connectionWaitMs,
  "an answer is recorded under its lease, or not at all",
);
assert(deliveryLeaseMs > postTimeoutMs + statementTimeoutMs, "an answer is recorded under its delivery's lease");
assert(
  alertRepeatFirstMs > alertAddressesMax * mailTimeoutMs + postTimeoutMs,
  "an alert is handed over for each address before another worker takes it up",
);
assert(breakerWindowMs > breakerOpenMs, "failures before the pause still count after it, so one more is enough");
assert(databaseSilenceMs > statementTimeoutMs, "the server is the first to stop a statement");
assert(statementTimeoutMs > idempotencyWaitMs, "a waiting repeat is answered before its statement is stopped");

function assert(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`limits.ts: ${rule}`);
}
