import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { sharedApp } from '#testing';
import { type Download, FileCallers, newBytes, sha256Of } from './files.fixture';

const CONTENT = Buffer.from('0123456789abcdef');
const ETAG = `"${sha256Of(CONTENT)}"`;

describe('the content of a file', () => {
  const app = sharedApp();
  let callers: FileCallers;
  let path: string;

  beforeAll(async () => {
    callers = await FileCallers.of(app);
    path = `${(await callers.created(CONTENT, { name: 'digits.txt' }, 'text/plain')).path}/content`;
  });

  const get = (headers: Record<string, string> = {}, of = path): Promise<Download> =>
    callers.download(of, headers);

  it('comes with headers that identify and protect it', async () => {
    const { status, headers, bytes, complete } = await get();
    expect([status, bytes, complete]).toEqual([200, CONTENT, true]);
    expect(headers).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '16',
      'accept-ranges': 'bytes',
      etag: ETAG,
      'repr-digest': `sha-256=:${createHash('sha256').update(CONTENT).digest('base64')}:`,
      'content-disposition': 'attachment; filename="digits.txt"',
      'x-content-type-options': 'nosniff',
    });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  it('is the same for a client that accepts compression', async () => {
    const { path: large } = await callers.created(Buffer.alloc(100_000, 'x'), {}, 'text/plain');
    const { headers, bytes } = await get({ 'accept-encoding': 'gzip' }, `${large}/content`);
    expect([headers['content-encoding'], headers['content-length'], bytes.length]).toEqual([
      undefined,
      '100000',
      100_000,
    ]);
  });

  it('has the same headers for HEAD, without a body', async () => {
    const { path: large } = await callers.created(newBytes(600_000), { name: 'large' }, 'a/b');
    for (const of of [path, path.replace('/content', '/versions/1/content'), `${large}/content`]) {
      const [head, whole] = [await callers.download(of, {}, 'HEAD'), await get({}, of)];
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      const comparable = ({ date, 'x-request-id': _, ...headers }: Download['headers']) => [
        headers,
        typeof date,
      ];
      expect(comparable(head.headers)).toEqual(comparable(whole.headers));
    }
    // ranges are defined only for GET (RFC 9110, section 14.2)
    const ranged = await callers.download(path, { range: 'bytes=0-1' }, 'HEAD');
    expect([ranged.status, ranged.headers['content-length']]).toEqual([200, '16']);
    expect((await callers.download(path, { 'if-none-match': ETAG }, 'HEAD')).status).toBe(304);
  });

  it.each([
    ['quotes " and \\', 'attachment; filename="quotes _ and _"; filename*=UTF-8\'\'quotes%20%22%20and%20%5C'],
    ['a;b=c.txt', 'attachment; filename="a_b_c.txt"; filename*=UTF-8\'\'a%3Bb%3Dc.txt'],
    ['../etc/passwd', 'attachment; filename=".._etc_passwd"; filename*=UTF-8\'\'..%2Fetc%2Fpasswd'],
    ['🎉 naïve.txt', 'attachment; filename="__ na_ve.txt"; filename*=UTF-8\'\'%F0%9F%8E%89%20na%C3%AFve.txt'],
    ["it's (1)*.txt", 'attachment; filename="it_s _1__.txt"; filename*=UTF-8\'\'it%27s%20%281%29%2A.txt'],
    ['100%.txt', 'attachment; filename="100_.txt"; filename*=UTF-8\'\'100%25.txt'],
  ])('has a Content-Disposition with its name: %s', async (name, disposition) => {
    const { path: of } = await callers.created('x', { name });
    expect((await get({}, `${of}/content`)).headers['content-disposition']).toBe(disposition);
  });

  it.each([
    ['the first bytes', 'bytes=0-3', 0, 3],
    ['one byte', 'bytes=0-0', 0, 0],
    ['the last byte', 'bytes=15-15', 15, 15],
    ['the middle', 'bytes=4-9', 4, 9],
    ['an open end', 'bytes=10-', 10, 15],
    ['everything', 'bytes=0-', 0, 15],
    ['a suffix', 'bytes=-5', 11, 15],
    ['a suffix longer than the content', 'bytes=-500', 0, 15],
    ['an end beyond the end', 'bytes=12-100', 12, 15],
    ['an end with 400 digits', `bytes=12-${'9'.repeat(400)}`, 12, 15],
    ['a unit in upper case', 'Bytes=1-2', 1, 2],
    ['blanks', 'bytes= 1-2 ', 1, 2],
  ])('is sent in part: %s', async (_, range, start, end) => {
    const { status, headers, bytes } = await get({ range });
    expect([status, bytes.toString()]).toEqual([206, CONTENT.subarray(start, end + 1).toString()]);
    expect(headers).toMatchObject({
      'content-range': `bytes ${start}-${end}/16`,
      'content-length': String(end - start + 1),
      'accept-ranges': 'bytes',
      etag: ETAG,
      'repr-digest': `sha-256=:${createHash('sha256').update(CONTENT).digest('base64')}:`,
    });
  });

  it.each(['bytes=16-', 'bytes=16-20', 'bytes=-0', `bytes=${'9'.repeat(30)}-`])(
    'returns 416 for a range beyond its end: %s',
    async (range) => {
      const { status, headers, bytes } = await get({ range });
      expect([status, headers['content-range'], JSON.parse(bytes.toString()).code]).toEqual([
        416,
        'bytes */16',
        'range_not_satisfiable',
      ]);
      expect(headers).not.toHaveProperty('etag');
    },
  );

  it('returns 416 for any range if it is empty', async () => {
    const { path: empty } = await callers.created('', { name: 'empty' });
    const { status, headers } = await get({ range: 'bytes=0-' }, `${empty}/content`);
    expect([status, headers['content-range']]).toEqual([416, 'bytes */0']);
    const whole = await get({}, `${empty}/content`);
    expect([whole.status, whole.headers['content-length'], whole.complete]).toEqual([200, '0', true]);
  });

  it.each([
    'bytes=0-1,4-5',
    'bytes=4-5, -1',
    'bytes=5-4',
    'bytes=a-b',
    'bytes=',
    'bytes=-',
    'bytes=1 0-12',
    'bytes=0-1;x',
    'bytes=+0-1',
    'items=0-1',
    '0-1',
    '',
  ])('is sent whole for a Range that is not a single range: %j', async (range) => {
    const { status, bytes, headers } = await get({ range });
    expect([status, bytes.toString(), headers['content-range']]).toEqual([
      200,
      CONTENT.toString(),
      undefined,
    ]);
  });

  it.each([
    ['its ETag', ETAG, 206],
    ['another ETag', '"other"', 200],
    ['a weak ETag', `W/${ETAG}`, 200],
    ['a date', 'Wed, 21 Oct 2099 07:28:00 GMT', 200],
  ])('honours Range only if If-Range matches: If-Range with %s', async (_, condition, expected) => {
    const { status, bytes } = await get({ range: 'bytes=0-1', 'if-range': condition });
    expect([status, bytes.length]).toEqual([expected, expected === 206 ? 2 : 16]);
    // an unsatisfiable range is ignored as well if If-Range does not match
    const beyond = await get({ range: 'bytes=99-', 'if-range': condition });
    expect(beyond.status).toBe(expected === 206 ? 416 : 200);
  });

  it.each([ETAG, `W/${ETAG}`, `"x", ${ETAG}`, '*'])(
    'returns 304 if If-None-Match matches: %s',
    async (condition) => {
      const ranges: Record<string, string>[] = [{}, { range: 'bytes=0-1' }, { range: 'bytes=99-' }];
      for (const range of ranges) {
        const { status, headers, bytes } = await get({ 'if-none-match': condition, ...range });
        expect([status, headers.etag, bytes.length]).toEqual([304, ETAG, 0]);
      }
    },
  );

  it('is sent if If-None-Match does not match', async () => {
    expect((await get({ 'if-none-match': '"other", W/"another"' })).status).toBe(200);
    expect((await get({ 'if-none-match': '"other"', range: 'bytes=0-0' })).status).toBe(206);
  });

  it('returns 412 if If-Match does not match, whatever the other headers', async () => {
    const others: Record<string, string>[] = [
      {},
      { range: 'bytes=0-1' },
      { range: 'bytes=99-' },
      { 'if-none-match': ETAG },
    ];
    for (const more of others) {
      const { status, bytes } = await get({ 'if-match': '"other"', ...more });
      expect([status, JSON.parse(bytes.toString()).code]).toEqual([412, 'precondition_failed']);
    }
    for (const condition of [ETAG, '*', `"x", ${ETAG}`]) {
      expect((await get({ 'if-match': condition })).status).toBe(200);
      expect((await get({ 'if-match': condition, range: 'bytes=0-1' })).status).toBe(206);
    }
  });

  it('can be read by runtime and viewers, even when archived, and new versions do not change it', async () => {
    const { path: file } = await callers.created('first', { name: 'archived' });
    await callers.editor.post(`${file}/versions`, Buffer.from('second'), { 'content-type': 'a/b' });
    await callers.admin.post(`${file}/archive`);
    for (const role of ['runtime', 'viewer'] as const) {
      const reader = await callers.org.member(role);
      expect((await reader.get(`${file}/content`)).body).toBe('second');
      expect((await reader.get(`${file}/versions/1/content`)).body).toBe('first');
    }
    expect((await app.api().get(`${file}/content`)).status).toBe(401);
    const stranger = await FileCallers.of(app);
    const refused = await stranger.editor.get(`${file}/content`, { 'if-none-match': '*' });
    expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
  });

  it('has the new ETag after a new version', async () => {
    const { path: file } = await callers.created('old', { name: 'changing' });
    const old = (await get({}, `${file}/content`)).headers.etag!;
    await callers.editor.post(`${file}/versions`, Buffer.from('new'), { 'content-type': 'a/b' });
    const resumed = await get({ range: 'bytes=1-', 'if-range': old }, `${file}/content`);
    expect([resumed.status, resumed.bytes.toString()]).toEqual([200, 'new']);
    expect((await get({ 'if-none-match': old }, `${file}/content`)).status).toBe(200);
    expect((await get({ 'if-match': old }, `${file}/content`)).status).toBe(412);
  });

  it('equals the upload in every range, whatever its size', async () => {
    const size = fc.oneof(
      fc.integer({ min: 0, max: 2_000 }),
      // sizes around those of the chunks in which content is read and sent
      fc
        .tuple(fc.constantFrom(65_536, 262_144, 524_288), fc.integer({ min: -2, max: 2 }))
        .map(([a, b]) => a + b),
    );
    const parts = fc.array(
      fc.tuple(fc.nat(600_000), fc.nat(600_000), fc.constantFrom('both', 'open', 'suffix')),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(size, parts, async (length, ranges) => {
        const bytes = newBytes(length);
        const { path: file, view } = await callers.created(bytes);
        expect(view).toMatchObject({ size_bytes: length, sha256: sha256Of(bytes) });
        expect((await get({}, `${file}/content`)).bytes.equals(bytes)).toBe(true);
        for (const [a, b, form] of ranges) {
          const [first, last] = [Math.min(a, b), Math.max(a, b)];
          const range = { both: `${first}-${last}`, open: `${first}-`, suffix: `-${last}` }[form]!;
          const expected =
            form === 'suffix'
              ? bytes.subarray(Math.max(length - last, 0))
              : bytes.subarray(first, form === 'open' ? length : last + 1);
          const answer = await get({ range: `bytes=${range}` }, `${file}/content`);
          const isThere = expected.length > 0;
          expect([length, range, answer.status]).toEqual([length, range, isThere ? 206 : 416]);
          if (isThere) expect(answer.bytes.equals(expected)).toBe(true);
        }
      }),
      { numRuns: 10 },
    );
  }, 300_000);
});
