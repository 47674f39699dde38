/** The sum of all. A loop, which takes a fifth of the time of `reduce` on arrays of numbers. */
export function sumOf(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum;
}
