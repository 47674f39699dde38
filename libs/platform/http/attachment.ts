/** What RFC 8187 lets stand unencoded in an extended value. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * `Content-Disposition` of an answer that is to be kept as a file (RFC 6266). A name that is not plain is given in UTF-8
 * too, beside one for those who do not know that form.
 */
export function attachment(fileName: string): string {
  const plain = fileName.replace(/[^\w. -]/g, '_');
  return `attachment; filename="${plain}"${plain === fileName ? '' : `; filename*=UTF-8''${encoded(fileName)}`}`;
}
