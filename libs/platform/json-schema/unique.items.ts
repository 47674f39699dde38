/**
 * Whether two items of a list are equal as JSON values. Takes time in proportion to the list's size, where comparing
 * each with each would take its square.
 *
 * @param spend is told what it costs, in units of the meter, before the work is done
 */
export function hasDuplicates(items: unknown[], spend: (units: number) => void): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const key = canonical(item, spend);
    if (seen.has(key)) return true;
    seen.add(key);
  }
  return false;
}

/** What one value costs, in units of the meter. */
const VALUE_UNITS = 20;

/** A text that is the same for equal JSON values: members in the order of their names. */
function canonical(value: unknown, spend: (units: number) => void): string {
  spend(VALUE_UNITS);
  if (typeof value === 'string') {
    spend(value.length / 4);
    return JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, spend)).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member, spend)}`).join()}}`;
}
