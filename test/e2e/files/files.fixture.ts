import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';

export const FILES = '/file/v1/files';

/** A part of a form. A file also has a file name and a media type. */
export interface Part {
  name: string;
  content: string | Buffer;
  filename?: string;
  type?: string;
  /** Header lines that replace the generated ones. */
  headers?: string;
}

/** A download. */
export interface Download {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** Whether all announced bytes arrived. */
  complete: boolean;
}

/** An organization with callers who upload and read files in its workspace. */
export class FileCallers {
  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly editor: ApiClient,
    readonly admin: ApiClient,
    readonly token: string,
  ) {}

  static async of(app: TestApp): Promise<FileCallers> {
    const org = await newOrganization(app);
    const token = await org.token('editor');
    return new FileCallers(app, org, app.api(token), await org.member('admin'), token);
  }

  /** Returns the path for a raw upload. */
  pathOf(query: Record<string, string> = {}): string {
    return `${FILES}?${new URLSearchParams({ workspace_id: this.org.workspaceId, ...query }).toString()}`;
  }

  /** Uploads bytes as a raw body. */
  upload(
    content: string | Buffer,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
    by = this.editor,
  ): Promise<Answer> {
    const type = { 'content-type': 'application/octet-stream' };
    return by.post(this.pathOf(query), Buffer.from(content), { ...type, ...headers });
  }

  /** Sends a form that creates a file or a version. */
  uploadForm(
    parts: readonly Part[],
    to = FILES,
    headers: Record<string, string> = {},
    by = this.editor,
  ): Promise<Answer> {
    return by.post(to, formOf(parts), { 'content-type': FORM_TYPE, ...headers });
  }

  /** Returns the parts of a form that uploads a file to the workspace. */
  form(content: string | Buffer, more: Part[] = [], filename = 'a.txt', type = 'text/plain'): Part[] {
    const file = { name: 'file', content, filename, type };
    return [{ name: 'workspace_id', content: this.org.workspaceId }, ...more, file];
  }

  /** Creates a file. @returns its path and view */
  async created(content: string | Buffer, query: Record<string, string> = {}, type?: string) {
    const answer = await this.upload(content, query, type === undefined ? {} : { 'content-type': type });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return {
      path: answer.headers.get('location')!,
      view: answer.body as any,
      etag: answer.headers.get('etag')!,
    };
  }

  /** Downloads bytes. Does not fail if the response is aborted. */
  async download(target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Download> {
    const sent = request(this.app.url + target, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${this.token}`, ...headers },
    }).end();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of answer) chunks.push(chunk as Buffer);
    } catch {
      // aborted
    }
    const { statusCode, headers: received, complete } = answer;
    return { status: statusCode!, headers: received, bytes: Buffer.concat(chunks), complete };
  }

  /** Opens a connection and writes the head of a request. The caller writes the body. */
  connection(head: string, headers: Record<string, string> = {}): RawConnection {
    const { hostname, port } = new URL(this.app.url);
    const socket = net.connect(Number(port), hostname);
    const connection = new RawConnection(socket);
    const lines = Object.entries({ authorization: `Bearer ${this.token}`, ...headers });
    socket.write(
      `${head} HTTP/1.1\r\nHost: test\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    );
    return connection;
  }

  /** The storage directory of the app. */
  get storage(): string {
    return fileURLToPath(this.app.env.STORAGE_URL!);
  }

  /** Counts the complete and the incomplete objects in the storage directory. */
  async objects(): Promise<{ complete: number; incomplete: number }> {
    const namesIn = (...folder: string[]) => readdir(path.join(this.storage, ...folder)).catch(() => []);
    const incomplete = await namesIn('incomplete');
    return {
      complete: (await namesIn('objects', this.org.orgId)).length,
      incomplete: incomplete.filter((name) => name.startsWith(this.org.orgId)).length,
    };
  }

  /** Counts everything that is stored for uploads of the organization. */
  async counts(): Promise<Record<string, number>> {
    const [rows] = await this.app.database.query<Record<string, number>>(
      `SELECT (SELECT count(*)::int FROM files WHERE org_id = $1) AS files,
              (SELECT count(*)::int FROM file_versions WHERE org_id = $1) AS versions,
              (SELECT count(*)::int FROM blobs WHERE org_id = $1) AS blobs,
              (SELECT count(*)::int FROM blob_writes WHERE org_id = $1) AS writes`,
      [this.org.orgId],
    );
    return { ...rows!, ...(await this.objects()) };
  }

  /** Waits until `counts` has the expected values. */
  async untilCounts(expected: Record<string, number>): Promise<void> {
    const until = Date.now() + 20_000;
    for (;;) {
      const counts = await this.counts();
      if (JSON.stringify(counts) === JSON.stringify(expected)) return;
      if (Date.now() > until) return expect(counts).toEqual(expected);
      await delay(20);
    }
  }

  /** Returns the path of the stored object with this digest. */
  async objectOf(sha256: string): Promise<string> {
    const [row] = await this.app.database.query<{ storage_key: string }>(
      'SELECT storage_key FROM blobs WHERE org_id = $1 AND sha256 = $2',
      [this.org.orgId, sha256],
    );
    return path.join(this.storage, 'objects', row!.storage_key);
  }
}

/** The counts of an organization without uploads. */
export const NO_FILES = { files: 0, versions: 0, blobs: 0, writes: 0, complete: 0, incomplete: 0 };

/** The counts of an organization with one file that has one version. */
export const ONE_FILE = { files: 1, versions: 1, blobs: 1, writes: 0, complete: 1, incomplete: 0 };

/** A connection on which a test writes arbitrary bytes. */
export class RawConnection {
  received = Buffer.alloc(0);
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;

  constructor(readonly socket: net.Socket) {
    socket.on('data', (bytes) => (this.received = Buffer.concat([this.received, bytes])));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Writes bytes once the previous ones are sent. */
  write(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** Waits for a response, and returns its text. */
  async response(): Promise<string> {
    while (!/\r\n\r\n[^]/.test(this.received.toString('latin1')) && !this.socket.closed) await delay(5);
    return this.received.toString();
  }

  /** Resets the connection. */
  reset(): void {
    this.socket.resetAndDestroy();
  }
}

const BOUNDARY = 'boundary-of-the-test';
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Returns one part of a form as a client writes it, without the boundary after it. */
export const partOf = ({ name, content, filename, type, headers }: Part): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\n${
        headers ??
        `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}${
          type === undefined ? '' : `\r\nContent-Type: ${type}`
        }`
      }\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);

/** Returns a form. */
export const formOf = (parts: readonly Part[]): Buffer =>
  Buffer.concat([...parts.map(partOf), Buffer.from(`--${BOUNDARY}--\r\n`)]);

export const sha256Of = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Bytes that no other test uploads. */
export const newBytes = (size: number): Buffer => randomBytes(size);

/** What a client sends before it disconnects: the head of a request and a part of its body. */
export const partialUploads = (
  callers: FileCallers,
  content: Buffer,
): [string, () => [string, Record<string, string>, Buffer]][] => [
  [
    'raw, with a Content-Length',
    () => [callers.pathOf(), { 'content-length': '1000000', 'content-type': 'a/b' }, content],
  ],
  [
    'raw, in chunks',
    () => [
      callers.pathOf(),
      { 'transfer-encoding': 'chunked' },
      Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')]),
    ],
  ],
  [
    'a form, interrupted within its file',
    () => {
      const body = formOf(callers.form(content));
      return [
        FILES,
        { 'content-length': String(body.length + 1000), 'content-type': FORM_TYPE },
        body.subarray(0, -1000),
      ];
    },
  ],
];
