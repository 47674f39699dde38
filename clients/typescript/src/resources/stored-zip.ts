const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;

/**
 * Reads a zip archive as the service writes it: the entries follow each other, uncompressed, each with its size before its
 * content. Throws for any other archive.
 */
export function readStoredZip(archive: Uint8Array<ArrayBuffer>): Map<string, Uint8Array<ArrayBuffer>> {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  let at = 0;
  while (at + LOCAL_HEADER_BYTES <= archive.length && view.getUint32(at, true) === LOCAL_HEADER) {
    const hasDescriptor = (view.getUint16(at + 6, true) & 8) !== 0;
    const isCompressed = view.getUint16(at + 8, true) !== 0;
    const size = view.getUint32(at + 22, true);
    const nameAt = at + LOCAL_HEADER_BYTES;
    const nameEnd = nameAt + view.getUint16(at + 26, true);
    const contentAt = nameEnd + view.getUint16(at + 28, true);
    at = contentAt + size;
    if (hasDescriptor || isCompressed || at > archive.length)
      throw new Error('The archive is not one that the service writes.');
    files.set(new TextDecoder().decode(archive.subarray(nameAt, nameEnd)), archive.subarray(contentAt, at));
  }
  return files;
}
