import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setLogLevel } from '#platform/logging';
import { createTestApp, type TestApp } from '#testing';
import {
  type DatasetCase,
  type DatasetVersion,
  orphans,
  spooledBodies,
  upload,
  UPLOAD_FORMS,
  uploaded,
  versionsOf,
} from './dataset-versions.fixture';
import {
  type Dataset,
  EvaluationWorkspace,
  outcome,
  type Page,
  places,
  statusesOf,
  TIME,
  UNKNOWN_IDS,
} from './evaluation.harness';

const MIB = 1024 * 1024;
const FILE = 'id,question,answer\r\nc1,"1 + 1, please",2\r\nc2,"say ""hi""\nand go",hi\r\n';

/** Rows of a file that fills a number of bytes exactly. */
function fileOf(bytes: number): Buffer {
  const file = Buffer.alloc(bytes, 'x');
  file.write('text\n');
  for (let at = 1024; at < bytes; at += 1024) file[at] = 10;
  return file;
}

describe('a CSV version of a dataset', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
  });
  afterAll(() => app.close());

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;
  const readDataset = async (id: string): Promise<Dataset> =>
    (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).body;

  /** The content of a version, as bytes. */
  async function contentOf(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const answer = await fetch(`${app.url}${path}/content`, {
      method,
      headers: {
        authorization: `Bearer ${await space.organization.token('viewer')}`,
        'x-service-workspace-id': space.id,
        ...headers,
      },
    });
    return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
  }

  describe('is made of a file', () => {
    it('and is then there, under its number, for whoever may read', async () => {
      const id = await newDataset();
      const answer = await upload(space.editor, id, FILE);
      expect(answer.status).toBe(201);
      expect(answer.headers.get('location')).toBe(`${versionsOf(id)}/1`);
      expect(answer.headers.get('etag')).toBe('"1"');
      expect(answer.body).toEqual({
        dataset_id: id,
        workspace_id: space.id,
        version: 1,
        version_id: expect.stringMatching(/^ver_/),
        row_count: 2,
        column_count: 3,
        columns: ['id', 'question', 'answer'],
        size_bytes: FILE.length,
        sha256: createHash('sha256').update(FILE).digest('hex'),
        case_id_column: 'id',
        mapping: { input: ['question', 'answer'], expected: [], metadata: [], tags: [] },
        created_at: expect.stringMatching(TIME),
        updated_at: answer.body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      const read = await space.viewer.get<DatasetVersion>(`${versionsOf(id)}/1`);
      expect([read.body, read.headers.get('etag')]).toEqual([answer.body, '"1"']);
      const known = await space.viewer.get(`${versionsOf(id)}/1`, { 'if-none-match': '"1"' });
      expect(known.status).toBe(304);
      expect(await space.list<DatasetVersion>(versionsOf(id))).toEqual([answer.body]);
    });

    it('raises latest_version and the ETag of its dataset', async () => {
      const before = await space.dataset();
      const path = `/eval/v1/datasets/${before.dataset_id}`;
      const { headers } = await space.viewer.get(path);
      expect(before.latest_version).toBeNull();
      await uploaded(space, before.dataset_id, 'a\n1\n');
      await uploaded(space, before.dataset_id, 'a\n2\n');
      expect((await readDataset(before.dataset_id)).latest_version).toBe(2);
      const stale = await space.editor.patch(
        path,
        { description: 'x' },
        { 'if-match': headers.get('etag')! },
      );
      expect(stale.status).toBe(412);
    });

    it('as text, as a form or within JSON, all of them with the same options', async () => {
      const mapping = { expected: ['answer'], tags: ['labels'] };
      const file = 'case,question,answer,labels\nc1,1 + 1,2,"easy; sums"\n';
      const id = await newDataset();
      const answers = [];
      for (const form of UPLOAD_FORMS) {
        const options = { case_id_column: 'case', mapping, workspace_id: space.id };
        answers.push(await upload(space.editor, id, file, options, form));
      }
      expect(answers.map(({ status }) => status)).toEqual([201, 200, 200]);
      for (const { body, headers } of answers) {
        expect(body).toEqual(answers[0]!.body);
        expect(headers.get('etag')).toBe('"1"');
      }
      expect(answers[0]!.body).toMatchObject({
        case_id_column: 'case',
        mapping: { input: ['question'], expected: ['answer'], metadata: [], tags: ['labels'] },
      });
    });

    it('once, however often it is sent; and again where its columns are read otherwise', async () => {
      const id = await newDataset();
      const first = await upload(space.editor, id, FILE);
      const again = await upload(space.editor, id, FILE);
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(again.headers.get('location')).toBeNull();
      // what is asked for is what would have been done anyway
      const same = { case_id_column: 'id', mapping: { input: ['question', 'answer'] } };
      expect((await upload(space.editor, id, FILE, same)).body).toEqual(first.body);
      const other = await upload(space.editor, id, FILE, { case_id_column: 'question' });
      expect([other.status, other.body.version, other.body.sha256]).toEqual([201, 2, first.body.sha256]);
      const mapped = await upload(space.editor, id, FILE, { mapping: { expected: ['answer'] } });
      expect([mapped.status, mapped.body.version]).toEqual([201, 3]);
      expect((await upload(space.editor, id, FILE, { mapping: { expected: ['answer'] } })).status).toBe(200);
      const elsewhere = await upload(space.editor, await newDataset(), FILE);
      expect([elsewhere.status, elsewhere.body.version]).toEqual([201, 1]);
      const versions = await space.list<DatasetVersion>(versionsOf(id));
      expect(versions.map(({ version }) => version)).toEqual([3, 2, 1]);
    });

    it('with an Idempotency-Key once, and answers what the first did', async () => {
      const id = await newDataset();
      const send = (content: string, options = {}) =>
        upload(space.editor, id, content, options, 'text', { 'idempotency-key': 'upload-1' });
      const first = await send(FILE);
      const again = await send(FILE);
      expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([
        201,
        201,
        'true',
      ]);
      expect(again.body).toEqual(first.body);
      expect(outcome(await send('a\n1\n'))).toEqual([422, 'validation_failed']);
      expect(outcome(await send(FILE, { case_id_column: 'question' }))).toEqual([422, 'validation_failed']);
    });

    it('sent by many at once, whose version is one and the same', async () => {
      const id = await newDataset();
      const file = fileOf(300_000);
      const answers = await Promise.all(Array.from({ length: 8 }, () => upload(space.editor, id, file)));
      expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(({ body }) => body.version_id)).size).toBe(1);
      expect((await readDataset(id)).latest_version).toBe(1);
      expect(await orphans(app)).toBe(0);
    });

    it('sent at once with others, each of which gets a number of its own, without gaps', async () => {
      const id = await newDataset();
      const files = Array.from({ length: 8 }, (_, index) => `a\n${index}\n`);
      const answers = await Promise.all(files.map((file) => upload(space.editor, id, file)));
      expect(answers.map(({ status }) => status)).toEqual(files.map(() => 201));
      const numbers = answers.map(({ body }) => body.version).sort((a, b) => a - b);
      expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      const listed = await space.list<DatasetVersion>(versionsOf(id));
      expect(listed.map(({ version }) => version)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    });
  });

  describe('gives back the very bytes', () => {
    const files: [string, Buffer][] = [
      ['a byte order mark and CRLF', Buffer.from('\ufeffa,b\r\n1,"2\r\n"\r\n')],
      ['no line break at the end', Buffer.from('a\n1')],
      ['a header alone', Buffer.from('a,b')],
      ['more than is sent at once', Buffer.concat([Buffer.from('a\n'), Buffer.from('é😀\n'.repeat(90_000))])],
      ['one cell that is larger than that', Buffer.from(`a\n"${'é"",\r\n'.repeat(120_000)}"\n`)],
    ];
    it.each(files)('of a file with %s', async (_, file) => {
      const id = await newDataset();
      const { version, sha256 } = await uploaded(space, id, file);
      const { answer, bytes } = await contentOf(`${versionsOf(id)}/${version}`);
      expect(bytes.equals(file)).toBe(true);
      expect(createHash('sha256').update(file).digest('hex')).toBe(sha256);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'text/csv; charset=utf-8',
        'content-length': String(file.length),
        'content-disposition': `attachment; filename="${id}-v1.csv"`,
        'x-content-type-options': 'nosniff',
        etag: `"${sha256}"`,
        'repr-digest': `sha-256=:${createHash('sha256').update(file).digest('base64')}:`,
      });
    });

    it('or says that whoever asks has them, or how many they are', async () => {
      const id = await newDataset();
      const { sha256 } = await uploaded(space, id, FILE);
      const path = `${versionsOf(id)}/1`;
      for (const condition of [`"${sha256}"`, `"x", W/"${sha256}"`, '*']) {
        const { answer, bytes } = await contentOf(path, { 'if-none-match': condition });
        expect([answer.status, bytes.length, answer.headers.get('etag')]).toEqual([304, 0, `"${sha256}"`]);
      }
      expect((await contentOf(path, { 'if-none-match': '"x"' })).answer.status).toBe(200);
      const head = await contentOf(path, {}, 'HEAD');
      expect([head.answer.status, head.bytes.length]).toEqual([200, 0]);
      expect(head.answer.headers.get('content-length')).toBe(String(FILE.length));
      const read = await space.viewer.get(`${path}/content`);
      expect([read.status, read.body]).toEqual([200, FILE]);
    });

    it('and breaks off, rather than ends, where it cannot read on', async () => {
      setLogLevel('silent');
      const id = await newDataset();
      await uploaded(space, id, fileOf(MIB));
      const lose = (ordinal: number) =>
        app.database.query(
          `DELETE FROM dataset_chunks USING dataset_versions v
           WHERE v.content_id = dataset_chunks.content_id AND v.dataset_id = $1 AND ordinal = $2`,
          [id, ordinal],
        );
      await lose(2);
      await expect(contentOf(`${versionsOf(id)}/1`)).rejects.toThrow();
      await lose(0);
      const answer = await space.viewer.get(`${versionsOf(id)}/1/content`);
      expect(outcome(answer)).toEqual([500, 'internal_error']);
      await app.database.query(
        'DELETE FROM dataset_chunks WHERE content_id NOT IN (SELECT content_id FROM dataset_versions)',
      );
    });
  });

  describe('has its rows as cases', () => {
    it('with columns where they are mapped, and others in the input', async () => {
      const id = await newDataset();
      const file = 'id,q,ctx,a,split,t1,t2\nx,1+1,"a\nb",2,test,"b,a; c","[""d,e"",""a""]"\ny,,,,,,\n';
      const mapping = { input: ['ctx'], expected: ['a'], metadata: ['split', 'id'], tags: ['t1', 't2'] };
      await uploaded(space, id, file, { mapping });
      const { body } = await space.viewer.get<Page<DatasetCase>>(`${versionsOf(id)}/1/rows`);
      expect(body).toEqual({
        items: [
          {
            id: 'x',
            input: { ctx: 'a\nb', q: '1+1' },
            expected: { a: '2' },
            metadata: { split: 'test', id: 'x' },
            tags: ['b', 'a', 'c', 'd,e'],
          },
          {
            id: 'y',
            input: { ctx: '', q: '' },
            expected: { a: '' },
            metadata: { split: '', id: 'y' },
            tags: [],
          },
        ],
        page: { limit: 50, offset: 0, total: 2, next_cursor: null },
      });
    });

    it('called by case_id, else id, else the number of the row', async () => {
      const id = await newDataset();
      const idsOf = async (file: string, options = {}): Promise<string[]> => {
        const { version } = await uploaded(space, id, file, options);
        return (await space.list<DatasetCase>(`${versionsOf(id)}/${version}/rows`)).map((one) => one.id);
      };
      expect(await idsOf('id,case_id\n1,a\n2,b\n')).toEqual(['a', 'b']);
      expect(await idsOf('id,x\n7,a\n8,b\n')).toEqual(['7', '8']);
      expect(await idsOf('x\na\nb\n')).toEqual(['1', '2']);
      expect(await idsOf('id,x\n7,a\n8,b\n', { case_id_column: 'x' })).toEqual(['a', 'b']);
    });

    it('page by page, by cursor or by offset, at any depth', async () => {
      const id = await newDataset();
      const count = 3_000;
      const rows = Array.from({ length: count }, (_, n) => `c${n},"${`row ${n}\n`.repeat(40)}"\n`);
      await uploaded(space, id, `id,text\n${rows.join('')}`);
      const path = `${versionsOf(id)}/1/rows`;
      const page = async (query: string) =>
        (await space.viewer.get<Page<DatasetCase>>(`${path}?${query}`)).body;
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const { items, page: at }: Page<DatasetCase> = await page(
          `limit=437${cursor ? `&cursor=${cursor}` : ''}`,
        );
        for (const one of items) {
          expect(one.input).toEqual({ text: `row ${one.id.slice(1)}\n`.repeat(40) });
          seen.push(one.id);
        }
        expect(at).toMatchObject({ limit: 437, offset: 0, total: count });
        cursor = at.next_cursor;
      } while (cursor !== null);
      expect(seen).toEqual(rows.map((_, n) => `c${n}`));
      const deep = await page('offset=2_990&limit=500'.replace('_', ''));
      expect(deep.items.map((one) => one.id)).toEqual(seen.slice(2_990));
      expect(deep.page).toEqual({ limit: 500, offset: 2_990, total: count, next_cursor: null });
      expect(await page('limit=0')).toMatchObject({ items: [], page: { total: count, next_cursor: null } });
      expect(await page('offset=3000')).toMatchObject({ items: [], page: { next_cursor: null } });
    });

    it('in pages of a bounded size, of which none is empty', async () => {
      const id = await newDataset();
      const cell = 'x'.repeat(6 * MIB);
      await uploaded(space, id, `a\n${`${cell}\n`.repeat(5)}`);
      const counts: number[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '' : `&cursor=${cursor}`;
        const { body } = await space.viewer.get<Page<DatasetCase>>(
          `${versionsOf(id)}/1/rows?limit=500${query}`,
        );
        counts.push(body.items.length);
        cursor = body.page.next_cursor;
      } while (cursor !== null);
      expect(counts).toEqual([3, 2]);
    });

    it('and refuses cursors of other lists, and parameters that it does not have', async () => {
      const id = await newDataset();
      await uploaded(space, id, 'a\n1\n2\n');
      await uploaded(space, id, 'a\n1\n3\n');
      const { page } = (await space.viewer.get<Page<unknown>>(`${versionsOf(id)}?limit=1`)).body;
      for (const query of [`cursor=${page.next_cursor}`, 'cursor=x', 'sort=created_at', 'limit=501', 'q=a']) {
        expect([query, ...outcome(await space.viewer.get(`${versionsOf(id)}/1/rows?${query}`))]).toEqual([
          query,
          400,
          'invalid_query',
        ]);
      }
    });
  });

  describe('is refused', () => {
    const faults: [string, string | Buffer, number][] = [
      ['a file without a byte', '', 1],
      ['a header with an empty name', 'a,,b\n1,2,3\n', 1],
      ['a header with a name twice', 'a,b,a\n1,2,3\n', 1],
      ['more than 256 columns', `${'a,'.repeat(256)}b\n`, 1],
      ['a row with fewer fields', 'a,b\n1,2\n3\n', 3],
      ['a row with more fields', 'a,b\n"1\n",2\n3,4,5\n', 4],
      ['a quote left open', 'a\n1\n"2\n3\n4\n', 3],
      ['a quote within a field', 'a\n1"2\n', 2],
      ['text after a closing quote', 'a\n"1"2\n', 2],
      ['a lone carriage return', 'a\n1\r2\n', 2],
      ['an empty case id', 'id,a\n1,x\n,y\n', 3],
      ['a duplicate case id', 'id,a\n1,x\n2,y\n1,z\n', 4],
      ['a case id of more than 255 characters', `id\n${'x'.repeat(256)}\n`, 2],
      ['a NUL character', 'a\n1\n\0\n', 3],
      ['bytes that are not UTF-8', Buffer.from('a\n1\n\xe9\n', 'latin1'), 3],
    ];
    it.each(faults)('with %s, and says on which line, in each form', async (_, file, line) => {
      const id = await newDataset();
      for (const form of UPLOAD_FORMS) {
        // JSON has no way to spell these bytes
        if (form === 'json' && /[\0\ufffd]/.test(file.toString())) continue;
        const answer = await upload(space.editor, id, file, {}, form);
        expect([form, ...outcome(answer)]).toEqual([form, 400, 'invalid_request']);
        const pointer = { text: '', form: '/file', json: '/content' }[form];
        expect(answer.body).toMatchObject({
          errors: [{ pointer, detail: expect.stringMatching(new RegExp(`^line ${line} `)) }],
        });
      }
      expect((await readDataset(id)).latest_version).toBeNull();
      expect(await space.list(versionsOf(id))).toEqual([]);
      expect(await orphans(app)).toBe(0);
    });

    it.each(UPLOAD_FORMS)('with options that do not fit, and says which (%s)', async (form) => {
      const id = await newDataset();
      const refused = async (options: Record<string, unknown>) => {
        const answer = await upload(space.editor, id, FILE, options, form);
        expect([options, answer.status]).toEqual([options, 400]);
        return places(answer);
      };
      const inBody = form !== 'text';
      const where = (pointer: string) => [inBody ? pointer : pointer.split('/')[1]];
      expect(await refused({ case_id_column: 'nope' })).toEqual(where('/case_id_column'));
      expect(await refused({ case_id_column: '' })).toEqual(where('/case_id_column'));
      expect(await refused({ mapping: { expected: ['nope'] } })).toEqual(where('/mapping/expected/0'));
      expect(await refused({ mapping: { input: ['id'], tags: ['answer', 'id'] } })).toEqual(
        where('/mapping/tags/1'),
      );
      expect(await refused({ mapping: { inputs: ['question'] } })).toEqual(where('/mapping/inputs'));
      expect(await refused({ mapping: { input: 'question' } })).toEqual(where('/mapping/input'));
      expect(await refused({ mapping: { input: [1] } })).toEqual(where('/mapping/input'));
      expect(await refused({ mapping: [] })).toEqual(where('/mapping'));
      expect(await refused({ mapping: 'x' })).toEqual(where('/mapping'));
      expect(await refused({ workspace_id: 'wsp_x' })).toEqual(where('/workspace_id'));
    });

    it('with options beside the body that is to hold them, or without what it must hold', async () => {
      const id = await newDataset();
      const path = versionsOf(id);
      const beside = await space.editor.post(`${path}?case_id_column=id`, {
        workspace_id: space.id,
        content: FILE,
      });
      expect([beside.status, places(beside)]).toEqual([400, ['case_id_column']]);
      expect(places(await space.post(path))).toEqual(['/content']);
      expect(places(await space.editor.post(path, { content: FILE }))).toEqual(['/workspace_id']);
      const form = new FormData();
      form.append('content', FILE);
      expect(places(await space.editor.post(path, form))).toEqual(['/file']);
      expect(
        outcome(await space.editor.post(`${path}?colour=red`, FILE, { 'content-type': 'text/csv' })),
      ).toEqual([400, 'invalid_query']);
    });

    it('of another media type, charset or coding', async () => {
      const path = versionsOf(await newDataset());
      for (const type of ['text/plain', 'application/octet-stream', 'text/csv; charset=iso-8859-1']) {
        expect(outcome(await space.editor.post(path, FILE, { 'content-type': type }))).toEqual([
          415,
          'unsupported_media_type',
        ]);
      }
      const coded = await space.editor.post(path, FILE, {
        'content-type': 'text/csv',
        'content-encoding': 'gzip',
      });
      expect(outcome(coded)).toEqual([415, 'unsupported_content_encoding']);
      const utf8 = await space.editor.post(path, FILE, {
        'content-type': 'Text/CSV; Charset="UTF-8"; header=present',
      });
      expect(utf8.status).toBe(201);
      const broken = await space.editor.post(path, FILE, {
        'content-type': 'multipart/form-data; boundary=b',
      });
      expect(outcome(broken)).toEqual([400, 'invalid_request']);
    });

    it('by a dataset that is archived, or not there, or not of this workspace', async () => {
      const id = await newDataset();
      await uploaded(space, id, FILE);
      const sibling = await space.sibling();
      const other = await EvaluationWorkspace.open(app);
      for (const client of [sibling, other.editor]) {
        expect(outcome(await upload(client, id, FILE))).toEqual([404, 'not_found']);
        for (const path of ['', '/1', '/1/content', '/1/rows']) {
          expect([path, ...outcome(await client.get(`${versionsOf(id)}${path}`))]).toEqual([
            path,
            404,
            'not_found',
          ]);
        }
      }
      for (const unknown of UNKNOWN_IDS) {
        expect((await upload(space.editor, encodeURIComponent(unknown), FILE)).status).toBe(404);
      }
      for (const number of ['2', '0', '01', 'x', '-1', '1e9', '99999999999']) {
        expect([number, (await space.viewer.get(`${versionsOf(id)}/${number}`)).status]).toEqual([
          number,
          404,
        ]);
      }
      await space.archive(`/eval/v1/datasets/${id}`);
      expect(outcome(await upload(space.editor, id, 'a\n1\n'))).toEqual([409, 'conflict']);
      // what is wrong with the request itself comes before that
      expect((await upload(space.editor, id, 'a\n"')).status).toBe(400);
      expect((await upload(space.editor, 'ds_x', 'a\n"')).status).toBe(400);
      expect((await space.viewer.get(`${versionsOf(id)}/1/content`)).body).toBe(FILE);
      expect(await orphans(app)).toBe(0);
    });

    it('from whoever may only read', async () => {
      const id = await newDataset();
      expect(outcome(await upload(space.viewer, id, FILE))).toEqual([403, 'access_denied']);
      const anonymous = app.api().in(space.id);
      expect(outcome(await upload(anonymous, id, FILE))).toEqual([401, 'token_missing']);
    });
  });

  describe('is held to its limits', () => {
    it('of 100,000 rows', async () => {
      const id = await newDataset();
      const most = await uploaded(
        space,
        id,
        `id\n${Array.from({ length: 100_000 }, (_, n) => `${n}\n`).join('')}`,
      );
      expect(most.row_count).toBe(100_000);
      const last = await space.list<DatasetCase>(`${versionsOf(id)}/1/rows?offset=99999`);
      expect(last).toEqual([{ id: '99999', input: {}, expected: null, metadata: {}, tags: [] }]);
      const more = await upload(space.editor, id, `a\n${'1\n'.repeat(100_001)}`);
      expect([more.status, (more.body as unknown as { detail: string }).detail]).toEqual([
        400,
        expect.stringMatching(/line 100002 .*100000/),
      ]);
    });

    it('of 256 columns', async () => {
      const id = await newDataset();
      const columns = Array.from({ length: 256 }, (_, n) => `c${n}`);
      const most = await uploaded(space, id, `${columns.join(',')}\n${columns.join(',')}\n`);
      expect(most).toMatchObject({ column_count: 256, columns, case_id_column: null });
      const [row] = await space.list<DatasetCase>(`${versionsOf(id)}/1/rows`);
      expect(row!.input).toEqual(Object.fromEntries(columns.map((column) => [column, column])));
      expect((await upload(space.editor, id, `${columns.join(',')},x\n`)).status).toBe(400);
    });

    it('of 32 MiB, and its form or its JSON of what that needs', async () => {
      const id = await newDataset();
      const most = fileOf(32 * MIB);
      expect((await upload(space.editor, id, most)).body).toMatchObject({ version: 1, size_bytes: 32 * MIB });
      const form = await upload(space.editor, id, most, {}, 'form');
      expect([form.status, form.body.version]).toEqual([200, 1]);
      const more = Buffer.concat([most, Buffer.from('\n')]);
      expect(outcome(await upload(space.editor, id, more))).toEqual([413, 'payload_too_large']);
      expect(outcome(await upload(space.editor, id, more, {}, 'form'))).toEqual([413, 'payload_too_large']);
      expect(outcome(await upload(space.editor, id, fileOf(10 * MIB), {}, 'json'))).toEqual([
        413,
        'payload_too_large',
      ]);
      expect((await upload(space.editor, id, fileOf(9 * MIB), {}, 'json')).status).toBe(201);
    });
  });

  describe('that is on its way', () => {
    async function connect(path: string, announced: number): Promise<net.Socket> {
      const { hostname, port } = new URL(app.url);
      const socket = net.connect(Number(port), hostname).on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await space.organization.token('editor')}\r\n` +
          `X-Service-Workspace-Id: ${space.id}\r\nContent-Type: text/csv\r\nContent-Length: ${announced}\r\n\r\n`,
      );
      return socket;
    }
    async function until(holds: () => boolean): Promise<void> {
      for (let waited = 0; !holds(); waited += 10) {
        if (waited > 20_000) throw new Error('It did not come to that.');
        await delay(10);
      }
    }

    it('holds no transaction open, however slowly it comes', async () => {
      const id = await newDataset();
      const file = fileOf(200_000);
      const before = spooledBodies();
      const socket = await connect(versionsOf(id), file.length);
      socket.write(file.subarray(0, 100_000));
      if (process.platform === 'linux') await until(() => spooledBodies() > before);
      await delay(50);
      const open = await app.database.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
           AND backend_type = 'client backend'`,
      );
      expect(open).toEqual([]);
      let answer = '';
      socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
      socket.write(file.subarray(100_000));
      await until(() => answer.includes('"version":1'));
      expect(answer).toMatch(/^HTTP\/1.1 201 /);
      socket.destroy();
    });

    it('leaves nothing when it breaks off', async () => {
      const id = await newDataset();
      const before = spooledBodies();
      for (let round = 0; round < 5; round++) {
        const socket = await connect(versionsOf(id), 1_000_000);
        socket.write(fileOf(1_000_000).subarray(0, round * 200_000));
        await delay(20);
        socket.destroy();
      }
      await until(() => spooledBodies() === before);
      expect((await readDataset(id)).latest_version).toBeNull();
      expect(await orphans(app)).toBe(0);
    });

    it.each([
      ['its bytes are written', 'LOCK TABLE dataset_chunks IN EXCLUSIVE MODE'],
      ['it waits for its number', 'SELECT 1 FROM datasets FOR UPDATE'],
    ])(
      'leaves nothing when its sender goes away as %s, and its connection is fit for others',
      async (_, lock) => {
        const id = await newDataset();
        const before = spooledBodies();
        const abort = new AbortController();
        const token = await space.organization.token('editor');
        await app.database.transaction(async (tx) => {
          await tx.query(lock);
          const sent = fetch(`${app.url}${versionsOf(id)}`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${token}`,
              'x-service-workspace-id': space.id,
              'content-type': 'text/csv',
            },
            body: new Uint8Array(fileOf(24 * MIB)),
            signal: abort.signal,
          });
          const waits = () =>
            app.database.query(
              `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
            );
          while ((await waits()).length === 0) await delay(20);
          abort.abort();
          await expect(sent).rejects.toThrow();
          await until(() => spooledBodies() === before);
        });
        const answers = await Promise.all(
          [1, 2, 3, 4, 5, 6].map((n) => upload(space.editor, id, `a\n${n}\n`)),
        );
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
        expect(await space.list(versionsOf(id))).toHaveLength(6);
        expect(await orphans(app)).toBe(0);
      },
    );

    it('leaves no temporary file, whatever becomes of it', async () => {
      const id = await newDataset();
      const before = spooledBodies();
      for (const form of UPLOAD_FORMS) {
        for (const file of ['a\n1\n', 'a\n"', fileOf(400_000)])
          await upload(space.editor, id, file, {}, form);
      }
      await until(() => spooledBodies() === before);
    });
  });
});

describe('an upload for which the time has run out', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp({ env: { REQUEST_TIMEOUT_MS: '1500' } });
    space = await EvaluationWorkspace.open(app);
  });
  afterAll(() => app.close());

  it('is answered with 504, and does not turn up later', async () => {
    setLogLevel('silent');
    const { dataset_id: id } = await space.dataset();
    const file = Buffer.concat([Buffer.from('a\n'), Buffer.from(randomBytes(1000).toString('hex'))]);
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM datasets WHERE dataset_id = $1 FOR UPDATE', [id]);
      expect(outcome(await upload(space.editor, id, file))).toEqual([504, 'request_timeout']);
    });
    const again = await upload(space.editor, id, file);
    expect([again.status, again.body.version]).toEqual([201, 1]);
    expect(await orphans(app)).toBe(0);
  });
});
