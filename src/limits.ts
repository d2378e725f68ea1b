/** Every bound of the service with its reason, and the relations that must hold between them. Pure. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Longest body of a request: a session is under 1 KiB, so 64 KiB leaves room and stops floods. */
export const bodyBytesMax = 64 * 1024;
/** Longest notification of a gateway: Adyen batches a few KiB each, and a batch that is refused comes again. */
export const notificationBytesMax = 256 * 1024;
/**
 * Longest reference that a gateway has for a payment, as Stripe promises for its ids (https://docs.stripe.com/upgrades,
 * 2026). An index has room for one of 2.7 KB, so that a longer one could be stored in a notice and acted on nowhere.
 */
export const gatewayReferenceCharactersMax = 255;
/** Node's own default for all headers together, stated so that it is ours. */
export const headerBytesMax = 16 * 1024;
/** Headers come in one packet from an honest client; ten seconds ends a slowloris. */
export const headersTimeoutMs = 10 * second;
/** A whole request of at most 64 KiB: also from a slow mobile line. */
export const requestTimeoutMs = 30 * second;
/** How often a server looks for connections that take longer: each gets at most this much more. */
export const connectionCheckMs = 5 * second;
/** An idle connection is kept longer than usual balancers keep theirs (60 s), or they would send into a closed one. */
export const keepAliveMs = 65 * second;
/** A connection in use on which no byte moves either way: its client reads no more, and its answer is let go, after twice this at most. */
export const silenceTimeoutMs = minute;
/** A client that is refused reads the answer within this; then its connection is closed, whatever it still sends. */
export const lingerMs = 2 * second;
/** A server's connections: with a body at its longest in each, 256 MiB; an idle one holds a few KiB. */
export const connectionsMax = 4_000;
/** Requests of one HTTP/1.1 connection that wait for answers: balancers and browsers send one at a time. */
export const pipelinedRequestsMax = 16;
/** Headers of a request: a browser sends about twenty, proxies add some. */
export const headersMax = 100;

/** The longest that a call by gRPC or Connect is waited for, and what it gets when it names no time: submitting waits for 20 s. */
export const rpcDeadlineMs = 30 * second;
/** How old an answer about readiness may be: however many ask, the databases are asked once in it. */
export const readinessFreshMs = second;
/** How often a watch of the health looks for a change: a balancer that looks by itself does so about as often. */
export const healthWatchEveryMs = second;
/** Watches of the health at once: one for each client of an installation, at about a KiB. */
export const healthWatchersMax = 1_000;
/** How often certificate files are looked at: they are renewed days before they end. */
export const certificateLookEveryMs = 10 * second;
/** What an operator may set: how long a stopping process still takes calls, so that balancers see it leave. */
export const drainNoticeBounds = { least: 0, usual: 2 * second, most: 10 * second } as const;

/** What node's HTTP/2 gets for the internal port. */
export const internalHttp2 = {
  settings: {
    // What one client has under way at once. A body is 64 KiB at most, so one connection holds 6.4 MiB of them at worst.
    maxConcurrentStreams: 100,
    // As on the public port.
    maxHeaderListSize: headerBytesMax,
    // Bytes of one stream that a client may send unread: a whole body, so that no call waits for a window.
    initialWindowSize: bodyBytesMax,
    enablePush: false,
  },
  // Headers of one call: ours need about fifteen.
  maxHeaderListPairs: 64,
  // MiB of one connection: buffers of its streams and its header table. Beyond them new streams are refused.
  maxSessionMemory: 8,
  // Calls that a client takes back at once, and in a second from then on (CVE-2023-44487): a client that gives up calls
  // at their deadline stays below it, one that only opens and resets is cut off.
  streamResetBurst: 200,
  streamResetRate: 100,
  // Frames that break the protocol, and streams opened beyond the limit: a correct client sends none.
  maxSessionInvalidFrames: 20,
  maxSessionRejectedStreams: 100,
  // Entries of one SETTINGS frame: the protocol has nine.
  maxSettings: 16,
} as const;

/** Connections of the internal port: internal services and balancers keep a few each. */
export const internalConnections = {
  // Idle ones take less than 40 KiB each, so 80 MiB at worst; beyond them the one that was idle for longest makes room.
  most: 2_000,
  // How often they are looked at, and how long a peer has for the answer to a ping.
  lookEveryMs: 20 * second,
  // Longer than a pool of a client needs to shrink, shorter than NAT tables forget (RFC 5382: two hours; many: 5 min).
  idleMs: 4 * minute,
  // After this a client connects anew, and so finds servers that were added meanwhile.
  ageMs: 30 * minute,
  // What runs then may finish within this: a call lasts no longer.
  ageGraceMs: rpcDeadlineMs,
  // What runs at the end of the process may finish within this: submit calls are answered at once, statements take milliseconds.
  closeWithinMs: 8 * second,
} as const;

/** How long a repeat waits for the first request with its Idempotency-Key. */
export const idempotencyWaitMs = 5 * second;
/** How long an Idempotency-Key is remembered: a merchant's retry queue is drained within a day. */
export const idempotencyLifetimeMs = 24 * hour;

/** A checkout page that is left open this long has been abandoned. */
export const sessionLifetimeMs = 30 * minute;
/** The client secret still reads a session this long after its end, for a page that is reloaded late. */
export const clientSecretReadMs = 24 * hour;

/** At most this many gateways are asked for one payment: a customer waits for every one. */
export const attemptsMax = 5;
/**
 * What an operator may set. An attempt: slower than the slowest gateways that publish a figure, and shorter than a lease.
 * The budget is what a customer waits in all before the page says "we are confirming your payment".
 */
export const timingBounds = {
  attemptTimeoutMs: { least: second, usual: 10 * second, most: 14 * second },
  submissionBudgetMs: { least: 5 * second, usual: 45 * second, most: 5 * minute },
} as const;
/** No attempt is opened in the last moment of the budget: its transaction would be refused, and an answer lost with it. */
export const openingMarginMs = 500;
/** A worker that is silent this long is taken for dead; it renews its lease at every step, none longer than an attempt. */
export const leaseMs = 20 * second;
/** A step renews a lease of which this much is used, so that a payment of milliseconds writes it once. */
export const leaseUsedMs = 500;

/** A connection is left out when this many calls in a row failed: fewer could be one broken card or one lost packet. */
export const breakerCalls = 5;
/** They count when they lie this close together: older trouble says nothing of the gateway as it is now. */
export const breakerWindowMs = minute;
/** How long it is then left out: a customer is spared a wait, and a gateway that came back is found soon. */
export const breakerOpenMs = 30 * second;
/** Failing connections that one process remembers, some hundred bytes each; beyond them the oldest is forgotten. */
export const breakerConnectionsMax = 10_000;

/** How long a submit call waits for the outcome before the widget polls: under the 30 s after which proxies give up. */
export const submitWaitMs = 20 * second;
/** How often a waiting submit call looks at a session that another process works on. */
export const submitPollMs = 250;
/** First and longest pause between two tries of the same capture or void; they double in between, and never end. */
export const repeatFirstMs = second;
export const repeatLongestMs = 5 * minute;
/** What one capture, void or look-up may take. */
export const settlingTimeoutMs = 10 * second;

/**
 * An external vault opens a session for a page, while a merchant's backend waits: within a repeat's wait for the first
 * request, or a key would seem to be in progress where the vault is down.
 */
export const vaultGrantTimeoutMs = 3 * second;
/** It tells what a token stands for, out of the attempt's own time; before that nothing is sent to a gateway. */
export const vaultReadTimeoutMs = 2 * second;
/**
 * How much longer than we wait it may hold a request before the gateway gets it. Hyperswitch ends its own calls after 30 s
 * (https://github.com/juspay/hyperswitch, REQUEST_TIME_OUT, 2026); twice that, as it is no promise.
 */
export const vaultLateMs = minute;
/** How long it is known which session of an external vault is whose: the longest that a session of ours may be open, and an hour. */
export const vaultSessionLifetimeMs = 25 * hour;
/** A grant lives longer than its session by this: a payment submitted at the last moment may ask gateways for its whole budget. */
export const vaultGraceMs = timingBounds.submissionBudgetMs.most + minute;
/** Longest grant and token of an external vault: its documented ones have some hundred characters. */
export const vaultTextCharactersMax = 4_096;

/** A gateway that cannot void for an hour has more than a hiccup, and the customer sees the hold. */
export const voidAlarmMs = hour;
/** Captures are answered in a second or two: after a minute a person should know before the customer asks. */
export const captureAlarmMs = minute;
/**
 * A capture that was only taken on is reported within hours. Three days leave room for a weekend, and end well before the
 * hold does, which most cards keep for seven days: while it is there, the money can still be asked for again.
 */
export const confirmationAlarmMs = 3 * day;
/**
 * A person who closes a row is told of the same matter once a day while it lasts: sweeps meet it every few seconds, and
 * one that was closed by mistake, or for a reason that did not hold, must not be forgotten either.
 */
export const workItemQuietMs = day;

/** Our records are compared with the gateways' once an hour: */
export const comparisonEveryMs = hour;
/** those of the attempts that changed within a day, so that each is compared many times, also after a day's outage. */
export const comparisonWindowMs = 24 * hour;
/** What changed just now is left to the next pass: a gateway's own record may lag behind its answers. */
export const comparisonLagMs = minute;
/** What a worker takes on of a pass at once, and how many reads it has under way: gateways limit both, and payments go first. */
export const comparisonSliceAttempts = 50;
export const comparisonConcurrency = 5;
/** A slice that is not counted by then belonged to a worker that is gone. */
export const comparisonLeaseMs = 3 * minute;

/** One worker audits once a minute; the loops of several come at moments that differ a little. */
export const auditEveryMs = 50 * second;
/** Sessions that the audit looks at in one turn: a statement of some hundred milliseconds that nothing waits for. */
export const auditSessionsMax = 5_000;
/** How far back a turn of the audit looks for what has changed: several turns, so that none is missed. */
export const auditLookBackMs = 5 * minute;

/** Submissions that one process works on at once before recovery leaves the rest to others; each holds a few KiB. */
export const submissionsInFlightMax = 256;

/** List pages. */
export const pageSizeMax = 100;
export const pageSizeDefault = 20;
/** Page tokens outlive a working day, not a key rotation. */
export const pageTokenLifetimeMs = 24 * hour;

/**
 * Requests of one merchant in one environment: what an operator may set. A backend at a steady 100 a second creates eight
 * million sessions a day; the burst is what two seconds of that leave over.
 */
export const requestLimitBounds = {
  perSecond: { least: 1, usual: 100, most: 100_000 },
  burst: { least: 1, usual: 200, most: 1_000_000 },
} as const;
/** A process holds a merchant's requests of this time ahead of need, so that a statement pays for many of them, */
export const requestStockMs = 200;
/** and never more than this part of the burst, so that what several processes hold leaves most of it to be shared. */
export const requestStockShare = 1 / 10;
/** What is not used within this time lapses; a merchant that calls now and then costs one statement in it at most. */
export const requestStockLifetimeMs = 10 * second;
/** After the database did not answer, requests are let in uncounted for this long before it is asked again. */
export const requestRecountMs = second;
/** Buckets that one process remembers, some hundred bytes each; beyond them the one idle for longest is forgotten. */
export const requestBucketsMax = 10_000;
/** Keys and sessions whose merchant one process remembers, to refuse without a query; as above. */
export const requestCredentialsMax = 20_000;

/** A webhook, from the first packet to the end of the answer; a receiver that needs longer should queue and answer at once. */
export const postTimeoutMs = 15 * second;
/** Longer than any try and its recording, so that only a dead worker's deliveries are taken over. */
export const deliveryLeaseMs = 35 * second;
/** A mail server answers each command in a second or two; greylisting ones and those with checks of their own take some more, */
export const mailStepTimeoutMs = 10 * second;
/** and a mail of two KiB is handed over in a few steps. */
export const mailTimeoutMs = 15 * second;
/** Addresses that a merchant's notices go to, one after another: a team, and a list for each shift. */
export const noticeAddressesMax = 10;
/** First and longest pause before a notice is mailed again; they double in between. A worker has it for itself that long. */
export const noticeRepeatFirstMs = 5 * minute;
export const noticeRepeatLongestMs = hour;
/** With those pauses more than eight hours: a mail server that is down for a night is waited for. */
export const noticeTriesMax = 12;
/** A notice that could not be mailed within a day is no news: it stays in the list. */
export const noticeNewsMs = day;

/** Connections of one process to one database: two cores keep about this many busy. */
export const databaseConnectionsMax = 16;
/** A statement of ours takes milliseconds; one that takes this long is stuck and must not hold its connection. */
export const statementTimeoutMs = 15 * second;
/** A connection gets free within milliseconds; who waits this long is better told to come again. */
export const connectionWaitMs = 5 * second;
/** A server that does not even say that it stopped a statement is gone: without this a loop would wait for it for ever. */
export const databaseSilenceMs = 20 * second;
/** A transaction of ours is never idle for long, so this one's process is stopped: its locks must not stop the others. */
export const idleInTransactionMs = 10 * second;

assert(requestTimeoutMs > headersTimeoutMs, "the headers are a part of the request");
assert(
  silenceTimeoutMs > requestTimeoutMs + connectionCheckMs && silenceTimeoutMs > submitWaitMs + settlingTimeoutMs,
  "a request that is too slow is told so, and a submit call that waits for its outcome is not cut off",
);
assert(timingBounds.attemptTimeoutMs.usual > 2 * vaultReadTimeoutMs, "the gateway has most of an attempt's time");
assert(idempotencyWaitMs > vaultGrantTimeoutMs, "a creation is refused before its repeats are told that it is running");
assert(leaseMs > idleInTransactionMs, "a stopped worker holds no lock any more when its lease lapses");
assert(
  comparisonLeaseMs > (comparisonSliceAttempts / comparisonConcurrency) * settlingTimeoutMs,
  "a slice is counted under its lease, however slow the gateway",
);
assert(comparisonWindowMs > 2 * comparisonEveryMs, "what one pass leaves out the next one has");
assert(auditLookBackMs > 2 * auditEveryMs, "the audit sees every change");
assert(leaseMs - leaseUsedMs > settlingTimeoutMs, "a lease outlives a capture, a void and a look-up");
assert(
  timingBounds.submissionBudgetMs.usual > timingBounds.attemptTimeoutMs.usual,
  "the budget has room for an attempt",
);
assert(
  leaseMs - leaseUsedMs > timingBounds.attemptTimeoutMs.most + connectionWaitMs,
  "an answer is recorded under its lease, or not at all",
);
assert(deliveryLeaseMs > postTimeoutMs + statementTimeoutMs, "an answer is recorded under its delivery's lease");
assert(
  noticeRepeatFirstMs > noticeAddressesMax * mailTimeoutMs,
  "a notice is handed over for each address before another worker takes it up",
);
assert(breakerWindowMs > breakerOpenMs, "failures before the pause still count after it, so one more is enough");
assert(databaseSilenceMs > statementTimeoutMs, "the server is the first to stop a statement");
assert(statementTimeoutMs > idempotencyWaitMs, "a waiting repeat is answered before its statement is stopped");

function assert(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`limits.ts: ${rule}`);
}
