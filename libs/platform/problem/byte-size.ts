const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size in the largest unit in which it is a whole number, such as `10 MiB`. */
export function formatBytes(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size > 0 && size % 1024 === 0 && unit < UNITS.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size} ${UNITS[unit]!}`;
}
