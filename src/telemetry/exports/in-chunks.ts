/** Rows per statement: bounds what one takes in memory, and how long building it holds up other requests. */
const CHUNK = 1_000;

/** Writes rows a chunk at a time, in their order. @returns what all of the statements answered */
export async function inChunks<Row, Found>(
  rows: readonly Row[],
  write: (chunk: readonly Row[]) => Promise<Found[]>,
): Promise<Found[]> {
  const found: Found[] = [];
  for (let start = 0; start < rows.length; start += CHUNK) {
    for (const one of await write(rows.slice(start, start + CHUNK))) found.push(one);
  }
  return found;
}
