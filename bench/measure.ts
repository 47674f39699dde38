/** The sides run in turn in each round, so that a slow moment of the machine affects all of them. */
const ROUNDS = 5;

export const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** Returns the 50th, 95th and 99th percentiles, by nearest rank. */
export function percentiles(values: number[]): [number, number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
  return [at(0.5), at(0.95), at(0.99)];
}

/**
 * Runs `total` calls, `clients` of them at once. Returns the milliseconds until the last one has ended.
 *
 * @param latencies receives the milliseconds of each call
 */
export async function timeCalls(
  total: number,
  clients: number,
  call: (index: number) => Promise<unknown>,
  latencies?: number[],
): Promise<number> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < total) {
      const startedAt = performance.now();
      await call(next++);
      latencies?.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  return performance.now() - startedAt;
}

export interface Side {
  name: string;
  /** @returns units per second, or milliseconds, depending on the benchmark */
  measure(round: number): Promise<number>;
}

export interface Comparison {
  medians: number[];
  /** For each side, the median ratio of its value to the first side's value of the same round. */
  ratios: number[];
}

/** Measures the sides in turn. The first side is the baseline of the others. The first round only warms up. */
export async function compare(sides: Side[]): Promise<Comparison> {
  const values: number[][] = sides.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, side] of sides.entries()) {
      const value = await side.measure(round);
      if (round > 0) values[index]!.push(value);
    }
  }
  return {
    medians: values.map(median),
    ratios: values.map((own) => median(own.map((value, round) => value / values[0]![round]!))),
  };
}

/** Returns the time that a call takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
