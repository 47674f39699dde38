/** What RFC 8187 lets stand unencoded in an extended value. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * `Content-Disposition` of an answer that is to be kept as a file (RFC 6266): its name in UTF-8 and, for those who do
 * not know that form, with `_` for whatever is not plain.
 */
export const attachment = (fileName: string): string =>
  `attachment; filename="${fileName.replace(/[^\w. -]/g, '_')}"; filename*=UTF-8''${encoded(fileName)}`;
