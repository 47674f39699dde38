/** A limit that the judge has not made felt for this long is lifted, in ms. */
const FORGOTTEN_MS = 600_000;
/** The longest that a judge's `Retry-After` holds back all who ask it, in ms. */
const BLOCKED_MAX_MS = 300_000;
/** A process that has said nothing for this long holds nothing any more, in ms. */
const HOLD_MS = 15_000;

/** The limit of one judge as all processes share it. Times are in ms since 1970, by the clock of the database. */
export interface SharedLimit {
  /** Requests that may be under way at once, 1 or more; its whole part counts. */
  maxInFlight: number;
  /** Until then nobody asks. */
  blockedUntil: number;
  /** When it was last halved, and when the judge last answered 429. */
  decreasedAt: number;
  limitedAt: number;
  /** What each process holds of it, and when that was said. */
  holders: Record<string, { held: number; saidAt: number }>;
}

/** What a process has to say to the others. */
export interface Report {
  holder: string;
  /** Requests that it has under way. */
  held: number;
}

/** Of a process that asks: what it wants, and how many answers it was given since it last asked. */
export interface Asked extends Report {
  wanted: number;
  answered: number;
}

/** Of a process that was answered 429: how long ago it had asked, and what it was told to wait. */
export interface Limited extends Report {
  elapsedMs: number;
  retryAfterMs: number;
}

/**
 * Raises the limit by what was answered, by one for as many answers as it allows at once, and gives out what there is.
 *
 * @returns the limit as it is then, null where it is lifted, and how many requests may be begun
 */
export function exchanged(
  limit: SharedLimit,
  { holder, held, wanted, answered }: Asked,
  now: number,
): { limit: SharedLimit | null; granted: number } {
  if (now - limit.limitedAt > FORGOTTEN_MS) return { limit: null, granted: wanted };
  const holders = living(limit, now);
  const maxInFlight = limit.maxInFlight + Math.min(1, answered / limit.maxInFlight);
  const others = heldBy(holders, holder);
  const free = now < limit.blockedUntil ? 0 : Math.max(0, Math.floor(maxInFlight) - others - held);
  const granted = Math.min(wanted, free);
  return {
    limit: {
      ...limit,
      maxInFlight,
      holders: { ...holders, [holder]: { held: held + granted, saidAt: now } },
    },
    granted,
  };
}

/**
 * Halves what is under way, once for each congestion: requests that were sent before the limit was last halved tell
 * nothing new. The first 429 of all sets the limit to half of what was under way then.
 */
export function decreased(
  limit: SharedLimit | null,
  { holder, held, elapsedMs, retryAfterMs }: Limited,
  now: number,
): SharedLimit {
  const holders = limit ? living(limit, now) : {};
  const underWay = held + 1 + heldBy(holders, holder);
  const isNew = !limit || limit.decreasedAt < now - elapsedMs;
  const from = Math.min(limit?.maxInFlight ?? Infinity, underWay);
  return {
    maxInFlight: isNew ? Math.max(1, from / 2) : limit.maxInFlight,
    blockedUntil: Math.max(limit?.blockedUntil ?? 0, now + Math.min(retryAfterMs, BLOCKED_MAX_MS)),
    decreasedAt: isNew ? now : limit.decreasedAt,
    limitedAt: now,
    holders: { ...holders, [holder]: { held, saidAt: now } },
  };
}

const living = ({ holders }: SharedLimit, now: number): SharedLimit['holders'] =>
  Object.fromEntries(
    Object.entries(holders).filter(([, { held, saidAt }]) => held > 0 && now - saidAt < HOLD_MS),
  );

const heldBy = (holders: SharedLimit['holders'], except: string): number =>
  Object.entries(holders).reduce((sum, [holder, { held }]) => sum + (holder === except ? 0 : held), 0);
