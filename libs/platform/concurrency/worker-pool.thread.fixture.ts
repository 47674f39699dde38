/** Tasks that the tests of `WorkerPool` run in threads. */
export const double = (value: number): number => 2 * value;

export function fail(message: string): never {
  throw new Error(message);
}

export const sum = (values: Float64Array): { sum: number; negated: Float64Array } => ({
  sum: values.reduce((all, value) => all + value, 0),
  negated: values.map((value) => -value),
});

export function loop(_input: null): never {
  for (;;);
}

export function hoard(_input: null): never {
  const arrays: unknown[] = [];
  for (;;) arrays.push(new Array<number>(1_000).fill(Math.random()));
}
