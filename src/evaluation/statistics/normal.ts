/** Beyond this the distribution function is 0 or 1 for a double's purposes. */
const FAR = 9;
const BISECTIONS = 64;

/** The standard normal distribution function, by the series of G. Marsaglia (J. Statistical Software 11(4), 2004). */
export function normalCdf(x: number): number {
  if (x <= -FAR) return 0;
  if (x >= FAR) return 1;
  let sum = x;
  let term = x;
  for (let i = 3; ; i += 2) {
    term *= (x * x) / i;
    const next = sum + term;
    if (next === sum) break;
    sum = next;
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Its inverse, by bisection. @param p greater than 0 and less than 1. */
export function normalQuantile(p: number): number {
  let low = -FAR;
  let high = FAR;
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
