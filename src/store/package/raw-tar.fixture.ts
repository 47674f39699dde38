import { gzipSync } from 'node:zlib';

/** A header and content for archives that the service would never write. */
export interface RawEntry {
  name: string;
  content?: Buffer | string;
  /** The typeflag. Defaults to a regular file. */
  type?: string;
  link?: string;
  prefix?: string;
  /** Defaults to the size of the content. */
  size?: string;
  magic?: string;
  checksum?: string;
}

/** Returns an entry of a tar archive, without checking anything. */
export function rawEntry(entry: RawEntry): Buffer {
  const content = Buffer.from(entry.content ?? '');
  const header = Buffer.alloc(512);
  header.write(entry.name, 0, 100, 'utf8');
  header.write('0000644', 100);
  header.write('0000000', 108);
  header.write('0000000', 116);
  header.write(entry.size ?? content.length.toString(8).padStart(11, '0'), 124, 12, 'latin1');
  header.write('00000000000', 136);
  header.write(entry.type ?? '0', 156, 1, 'latin1');
  header.write(entry.link ?? '', 157, 100, 'utf8');
  header.write(entry.magic ?? 'ustar\x0000', 257, 'latin1');
  header.write(entry.prefix ?? '', 345, 155, 'utf8');
  const sum = [...header].reduce((total, byte) => total + byte, 8 * 0x20);
  header.write(entry.checksum ?? `${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** Returns a pax header with these records, each with its correct length. */
export function rawPax(records: Record<string, string>): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest;
    while (rest + String(length).length !== length) length = rest + String(length).length;
    return `${length} ${key}=${value}\n`;
  });
  return rawEntry({ name: '././@PaxHeader', type: 'x', content: lines.join('') });
}

/** The two zero blocks at the end of an archive. */
export const TAR_END = Buffer.alloc(1024);

export const rawTarGz = (...parts: Buffer[]): Buffer => gzipSync(Buffer.concat([...parts, TAR_END]));
