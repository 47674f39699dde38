import { gzipSync } from 'node:zlib';
import { ObjectStorage } from '#platform/storage';
import { ownApp, newOrganization } from '#testing';
import {
  FileCallers,
  FILES,
  FORM_TYPE,
  formOf,
  NO_FILES,
  ONE_FILE,
  type Part,
  partOf,
} from './files.fixture';

const LIMIT = 4096;

const app = ownApp({ env: { FILE_LIMIT_BYTES: String(LIMIT) } });

describe('a rejected upload', () => {
  let callers: FileCallers;

  beforeAll(async () => {
    callers = await FileCallers.of(app);
  });
  afterEach(async () => expect(await callers.counts()).toEqual(NO_FILES));

  const outcomeOf = ({ status, body }: { status: number; body: any }) => [
    status,
    body.code,
    (body.errors as { pointer?: string; parameter?: string }[] | undefined)?.map(
      (one) => one.pointer ?? one.parameter,
    ),
  ];

  it.each([
    ['an unknown parameter', { names: 'x' }, 'names'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(256) }, 'name'],
    ['a control character in the name', { name: 'a\r\nb' }, 'name'],
    ['metadata that is not JSON', { metadata: '{' }, 'metadata'],
    ['metadata that is not an object', { metadata: '[1]' }, 'metadata'],
    ['a number that is not finite', { metadata: '{"a": 1e400}' }, 'metadata'],
    ['an empty workspace', { workspace_id: '' }, 'workspace_id'],
  ])('returns 400 for a query that has %s', async (_, query, parameter) => {
    const answer = await callers.upload('x', query as Record<string, string>);
    expect(outcomeOf(answer)).toEqual([400, 'invalid_query', [parameter]]);
  });

  it('returns 400 without a workspace in the query, before its bytes are read', async () => {
    const { received, socket } = await respondedBeforeTheBody(`${FILES}?name=x`);
    expect(received.toString()).toMatch(/^HTTP\/1.1 400 [^]*"parameter":"workspace_id"/);
    socket.destroy();
  });

  it.each([
    ['an empty name', [{ name: 'name', content: '' }], '/name'],
    ['a name that is too long', [{ name: 'name', content: 'x'.repeat(256) }], '/name'],
    ['a NUL in the name', [{ name: 'name', content: 'a\0b' }], '/name'],
    ['metadata that is not JSON', [{ name: 'metadata', content: '{' }], '/metadata'],
    [
      'metadata that is too large',
      [{ name: 'metadata', content: `{"a": "${'x'.repeat(16 * 1024)}"}` }],
      '/metadata',
    ],
    ['two names', [1, 2].map((n) => ({ name: 'name', content: `${n}` })), '/name'],
    ['two workspaces', [{ name: 'workspace_id', content: 'wsp_x' }], '/workspace_id'],
  ])('returns 400 for a form with %s, before or after the file', async (_, more, pointer) => {
    const [workspace, file] = callers.form('content') as [Part, Part];
    for (const parts of [
      [workspace, ...more, file],
      [workspace, file, ...more],
    ]) {
      expect(outcomeOf(await callers.uploadForm(parts))).toEqual([400, 'invalid_request', [pointer]]);
    }
  });

  it('returns 400 or 403 if the caller may not write in the workspace, before its bytes are stored', async () => {
    const write = jest.spyOn(app.get(ObjectStorage), 'write');
    const stranger = await newOrganization(app);
    const viewer = await callers.org.member('viewer');
    const of = { workspace_id: callers.org.workspaceId };
    const path = `${FILES}?${new URLSearchParams(of).toString()}`;
    expect(outcomeOf(await (await stranger.member('owner')).post(path, Buffer.from('x')))).toEqual([
      400,
      'invalid_query',
      ['workspace_id'],
    ]);
    expect((await viewer.post(path, Buffer.from('x'))).status).toBe(403);
    expect(write).not.toHaveBeenCalled();
    write.mockRestore();
  });

  it('returns 400 for a filename that is not a valid name', async () => {
    const answer = await callers.uploadForm(callers.form('x', [], 'x'.repeat(256)));
    expect(outcomeOf(answer)).toEqual([400, 'invalid_request', ['/name']]);
  });

  it('returns 400 with both a form and a query', async () => {
    const answer = await callers.uploadForm(callers.form('x'), callers.pathOf());
    expect(outcomeOf(answer)).toEqual([400, 'invalid_query', ['workspace_id']]);
  });

  it('returns 400 if its form lacks the workspace or the file, or has a plain field as the file', async () => {
    const [workspace, file] = callers.form('x') as [Part, Part];
    expect(outcomeOf(await callers.uploadForm([file]))).toEqual([400, 'invalid_request', ['/workspace_id']]);
    expect(outcomeOf(await callers.uploadForm([workspace]))).toEqual([400, 'invalid_request', ['/file']]);
    const plain = await callers.uploadForm([workspace, { name: 'file', content: 'x' }]);
    expect(outcomeOf(plain)).toEqual([400, 'invalid_request', ['/file']]);
    expect(outcomeOf(await callers.uploadForm([]))).toEqual([400, 'invalid_request', expect.anything()]);
  });

  const malformed: [string, (parts: [Part, Part]) => Buffer, string?][] = [
    ['two files', ([workspace, file]) => formOf([workspace, file, file])],
    ['a file in another part', ([workspace, file]) => formOf([workspace, { ...file, name: 'data' }])],
    [
      'a file in another part after the file',
      ([workspace, file]) => formOf([workspace, file, { ...file, name: 'data' }]),
    ],
    ['no end', ([workspace, file]) => Buffer.concat([workspace, file].map(partOf))],
    ['an end within the file', ([workspace, file]) => formOf([workspace, file]).subarray(0, -40)],
    ['no parts', () => Buffer.from('not a form')],
    [
      'a malformed part after its file',
      ([workspace, file]) => formOf([workspace, file, { name: '', content: '', headers: '\0\0' }]),
    ],
    [
      'too many parts',
      ([workspace, file]) => formOf([workspace, file, ...Array<Part>(60).fill({ name: 'x', content: '' })]),
    ],
    ['no boundary', ([workspace, file]) => formOf([workspace, file]), 'multipart/form-data'],
    [
      'another boundary',
      ([workspace, file]) => formOf([workspace, file]),
      'multipart/form-data; boundary=other',
    ],
  ];
  it.each(malformed)('returns 400 for a malformed form: %s', async (_, bodyOf, type = FORM_TYPE) => {
    const body = bodyOf(callers.form('content') as [Part, Part]);
    const answer = await callers.editor.post(FILES, body, { 'content-type': type });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  it('returns 415 with a Content-Encoding', async () => {
    const answer = await callers.upload(gzipSync('x'), {}, { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_content_encoding' } });
    expect(answer.headers.get('accept-encoding')).toBe('identity');
    const form = gzipSync(formOf(callers.form('x')));
    const ofForm = await callers.editor.post(FILES, form, {
      'content-type': FORM_TYPE,
      'content-encoding': 'gzip',
    });
    expect(ofForm.status).toBe(415);
  });

  it('returns 413 over the limit, with and without a Content-Length', async () => {
    const large = Buffer.alloc(LIMIT + 1, 'x');
    const chunked = { 'transfer-encoding': 'chunked' };
    const answers = [
      await callers.upload(large),
      await callers.upload(large, {}, chunked),
      await callers.uploadForm(callers.form(large)),
      await callers.uploadForm(callers.form(large), FILES, chunked),
      // the form itself, without a large file
      await callers.uploadForm(callers.form('x', [{ name: 'ignored', content: Buffer.alloc(300_000) }])),
      await callers.uploadForm(
        callers.form('x', [{ name: 'ignored', content: Buffer.alloc(300_000) }]),
        FILES,
        chunked,
      ),
      await callers.uploadForm(callers.form('x', [{ name: 'metadata', content: Buffer.alloc(65 * 1024) }])),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [413, 'payload_too_large']),
    );
  });

  it('returns 404 as a version of an unknown file, before its bytes are read', async () => {
    const theirs = await FileCallers.of(app);
    const { path } = await theirs.created('theirs');
    for (const of of [path, `${FILES}/file_unknown`]) {
      const { received, socket } = await respondedBeforeTheBody(`${of}/versions`);
      expect(received.toString()).toMatch(/^HTTP\/1.1 404 [^]*"not_found"/);
      socket.destroy();
    }
    expect(await theirs.counts()).toEqual(ONE_FILE);
  });

  /** Announces a body, sends none of it, and returns the connection with the response. */
  async function respondedBeforeTheBody(target: string) {
    const connection = callers.connection(`POST ${target}`, {
      'content-length': '1000',
      'content-type': 'text/plain',
    });
    await connection.response();
    return connection;
  }
});

describe('a large upload', () => {
  it('is accepted up to the limit, with and without a Content-Length', async () => {
    const callers = await FileCallers.of(app);
    const largest = Buffer.alloc(LIMIT, 'x');
    const chunked = { 'transfer-encoding': 'chunked' };
    const padding = { name: 'ignored', content: Buffer.alloc(60_000) };
    const answers = [
      await callers.upload(largest, { name: '1' }),
      await callers.upload(largest, { name: '2' }, chunked),
      await callers.uploadForm(callers.form(largest, [], '3')),
      await callers.uploadForm(callers.form(largest, [padding], '4'), FILES, chunked),
    ];
    expect(answers.map(({ status, body }) => [status, body.size_bytes])).toEqual(
      answers.map(() => [201, LIMIT]),
    );
  });
});
