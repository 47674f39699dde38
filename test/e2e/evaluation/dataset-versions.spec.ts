import { createHash } from 'node:crypto';
import { setLogLevel } from '#platform/logging';
import { ownApp } from '#testing';
import {
  type DatasetVersion,
  FILE,
  fileOf,
  orphans,
  upload,
  UPLOAD_FORMS,
  uploadVersion,
  versionsOf,
} from './dataset-versions.fixture';
import {
  type Dataset,
  EvaluationWorkspace,
  outcome,
  type Page,
  statusesOf,
  TIME,
} from './evaluation.harness';

const MIB = 1024 * 1024;

describe('a CSV version of a dataset', () => {
  const app = ownApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

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

  describe('on creation', () => {
    it('stores the file, and gets a number', async () => {
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
        mapping: { input: ['question'], expected: ['answer'], metadata: [], tags: [] },
        value_columns: ['answer'],
        created_at: expect.stringMatching(TIME),
        updated_at: answer.body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      const read = await space.viewer.get<DatasetVersion>(`${versionsOf(id)}/1`);
      expect([read.body, read.headers.get('etag')]).toEqual([answer.body, '"1"']);
      const notModified = await space.viewer.get(`${versionsOf(id)}/1`, { 'if-none-match': '"1"' });
      expect(notModified.status).toBe(304);
      expect(await space.list<DatasetVersion>(versionsOf(id))).toEqual([answer.body]);
    });

    it('raises latest_version and the ETag of the dataset', async () => {
      const before = await space.dataset();
      const path = `/eval/v1/datasets/${before.dataset_id}`;
      const { headers } = await space.viewer.get(path);
      expect(before.latest_version).toBeNull();
      await uploadVersion(space, before.dataset_id, 'a\n1\n');
      await uploadVersion(space, before.dataset_id, 'a\n2\n');
      expect((await readDataset(before.dataset_id)).latest_version).toBe(2);
      expect([before.row_count, (await readDataset(before.dataset_id)).row_count]).toEqual([null, 1]);
      const three = await uploadVersion(space, before.dataset_id, 'a\n1\n2\n3\n');
      expect(three.row_count).toBe(3);
      for (const [listed] of [
        await space.list<Dataset>(`/eval/v1/datasets?name=${encodeURIComponent(before.name)}`),
        (await space.viewer.post<Page<Dataset>>('/eval/v1/datasets/search', { q: before.name })).body.items,
      ]) {
        expect(listed).toMatchObject({ dataset_id: before.dataset_id, record_count: 0, row_count: 3 });
      }
      const stale = await space.editor.patch(
        path,
        { description: 'x' },
        { 'if-match': headers.get('etag')! },
      );
      expect(stale.status).toBe(412);
    });

    it('takes the same options with text, a form or JSON', async () => {
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

    it('is created once per content and mapping', async () => {
      const id = await newDataset();
      const first = await upload(space.editor, id, FILE);
      const again = await upload(space.editor, id, FILE);
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(again.headers.get('location')).toBeNull();
      // These options request the default behaviour.
      const same = { case_id_column: 'id', mapping: { input: ['question'], expected: 'answer' } };
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

    it('distinguishes recognized headers from an equal mapping', async () => {
      const id = await newDataset();
      const file = 'Input,Expected,split\nhi,hello,dev\n';
      const read = await uploadVersion(space, id, file);
      expect(read).toMatchObject({
        mapping: { input: ['Input'], expected: ['Expected'], metadata: ['split'], tags: [] },
        value_columns: ['Input', 'Expected'],
      });
      const { mapping, value_columns } = await uploadVersion(space, id, file, { mapping: read.mapping });
      expect([mapping, value_columns]).toEqual([read.mapping, []]);
      const again = await upload(space.editor, id, file);
      expect([again.status, again.body]).toEqual([200, read]);
      const sentBack = await space.post(versionsOf(id), { ...read, mapping: null, content: file });
      expect([sentBack.status, sentBack.body]).toEqual([200, read]);
    });

    it('is created once per Idempotency-Key', async () => {
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

    it('is created once when many clients send the file at the same time', async () => {
      const id = await newDataset();
      const file = fileOf(300_000);
      const answers = await Promise.all(Array.from({ length: 8 }, () => upload(space.editor, id, file)));
      expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map(({ body }) => body.version_id)).size).toBe(1);
      expect((await readDataset(id)).latest_version).toBe(1);
      expect(await orphans(app)).toBe(0);
    });

    it('is numbered without gaps when many are sent at once', async () => {
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

  describe('on download', () => {
    const files: [string, Buffer][] = [
      ['a byte order mark and CRLF', Buffer.from('\ufeffa,b\r\n1,"2\r\n"\r\n')],
      ['no line break at the end', Buffer.from('a\n1')],
      ['only a header', Buffer.from('a,b')],
      [
        'more bytes than are sent at once',
        Buffer.concat([Buffer.from('a\n'), Buffer.from('é😀\n'.repeat(90_000))]),
      ],
      ['one cell that is larger than a chunk', Buffer.from(`a\n"${'é"",\r\n'.repeat(120_000)}"\n`)],
    ];
    it.each(files)('returns a file with %s byte for byte', async (_, file) => {
      const id = await newDataset();
      const { version, sha256 } = await uploadVersion(space, id, file);
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

    it('supports If-None-Match and HEAD', async () => {
      const id = await newDataset();
      const { sha256 } = await uploadVersion(space, id, FILE);
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

    it('aborts the response when reading fails', async () => {
      setLogLevel('silent');
      const id = await newDataset();
      await uploadVersion(space, id, fileOf(MIB));
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
});
