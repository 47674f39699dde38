import { StreamedBody } from './streamed-body';

/** A response with its own status or headers. A handler that returns a plain view uses its default status. */
export class Reply {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Readonly<Record<string, string>> = {},
    /** The workspace of the resource, if the body does not name it as `workspace_id`. A replay checks the roles there. */
    readonly workspaceId?: string,
  ) {}
}

/** The view of a resource, and the version or generation for its ETag. A handler may return it directly. */
export class Versioned<View> {
  constructor(
    readonly view: View,
    readonly version: string | number,
  ) {}
}

/** The view of a resource that was there before a POST that would have created it. */
export class Existing<View> extends Versioned<View> {}

/** Returns a strong ETag of a version or generation, such as `"4"`. */
export const etagOf = (version: string | number): string => `"${version}"`;

/**
 * Returns a 201 with the resource, its `Location` (an absolute path) and, if it has a version, its ETag. Returns a 200 without
 * `Location` for an `Existing` resource.
 */
export const created = (location: string, view: unknown, version?: string | number): Reply => {
  if (view instanceof Existing) return versioned(view.view, view.version);
  return view instanceof Versioned
    ? created(location, view.view, view.version)
    : new Reply(201, view, { Location: location, ...(version !== undefined && { ETag: etagOf(version) }) });
};

/** Returns a 200 with a resource that has a version or generation. */
export const versioned = (view: unknown, version: string | number): Reply =>
  new Reply(200, view, { ETag: etagOf(version) });

/** The headers of a streamed response. */
export interface StreamedContent {
  type: string;
  /** In bytes, if known. */
  length?: number;
  /** Name of the file that a browser saves. */
  filename: string;
  /** SHA-256 of the bytes, in hexadecimal. Makes a strong ETag and a `Repr-Digest` (RFC 9530). */
  sha256?: string;
  /** For content whose digest is not known beforehand. */
  etag?: string;
}

/**
 * Returns a 200 that streams bytes with backpressure, see `StreamedBody`. Reads the first bytes before the response
 * starts, so that an unreadable source becomes a problem. A later failure aborts the response.
 */
export async function streamed(bytes: AsyncIterable<Buffer>, content: StreamedContent): Promise<Reply> {
  return new Reply(200, await StreamedBody.begin(bytes), contentHeaders(content));
}

/** Returns the headers that describe content. */
export const contentHeaders = ({
  type,
  length,
  filename,
  sha256,
  etag,
}: StreamedContent): Record<string, string> => ({
  'Content-Type': type,
  'Content-Disposition': attachment(filename),
  ...(length !== undefined && { 'Content-Length': String(length) }),
  ...(etag !== undefined && { ETag: etag }),
  ...(sha256 !== undefined && digestHeaders(sha256)),
});

const digestHeaders = (sha256: string): Record<string, string> => ({
  ETag: `"${sha256}"`,
  'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
});

/** Percent-encodes an extended value (RFC 8187). */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns a `Content-Disposition` for a download (RFC 6266), with an additional UTF-8 file name if the plain one differs. */
function attachment(fileName: string): string {
  const plain = fileName.replace(/[^\w. -]/g, '_');
  return `attachment; filename="${plain}"${plain === fileName ? '' : `; filename*=UTF-8''${encoded(fileName)}`}`;
}
