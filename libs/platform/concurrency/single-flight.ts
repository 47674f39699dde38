import { runUnjoined } from './current-owner';
import { unlessAborted } from './linked-signal';

interface Flight<Result> {
  result: Promise<Result>;
  /** Ends the work when nobody waits for it. */
  ending: AbortController;
  waiting: number;
}

/** Runs work once for all concurrent callers with the same key. */
export class SingleFlight<Result> {
  private readonly flights = new Map<string, Flight<Result>>();

  /**
   * Starts `work`, or joins the work in flight for this key, and returns its result.
   *
   * @param signal detaches this caller only; the others continue to wait
   * @param work receives a signal that is aborted when every caller has left
   * @throws the signal's reason, at once, when it is aborted; else the error of `work`, which every caller gets
   */
  async run(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const flight = this.flights.get(key) ?? this.begin(key, work);
    flight.waiting++;
    try {
      return await (signal ? unlessAborted(flight.result, signal) : flight.result);
    } finally {
      if (--flight.waiting === 0 && signal?.aborted) {
        this.end(key, flight);
        flight.ending.abort(signal.reason);
      }
    }
  }

  /** Returns the result of the work in flight for this key, or undefined if there is none. */
  pending(key: string): Promise<Result> | undefined {
    return this.flights.get(key)?.result;
  }

  /** Makes later callers start new work instead of joining work in flight. Earlier callers still get its result. */
  clear(): void {
    this.flights.clear();
  }

  private begin(key: string, work: (signal: AbortSignal) => Promise<Result>): Flight<Result> {
    const ending = new AbortController();
    const flight = { result: runUnjoined(() => work(ending.signal)), ending, waiting: 0 };
    this.flights.set(key, flight);
    const end = (): void => this.end(key, flight);
    // also handles a failure that nobody waits for
    flight.result.then(end, end);
    return flight;
  }

  private end(key: string, flight: Flight<Result>): void {
    if (this.flights.get(key) === flight) this.flights.delete(key);
  }
}
