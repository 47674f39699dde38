import { sharedApp } from '#testing';
import {
  type DatasetCase,
  FILE,
  orphans,
  upload,
  UPLOAD_FORMS,
  uploadVersion,
  versionsOf,
} from './dataset-versions.fixture';
import { type Dataset, EvaluationWorkspace, outcome, places, UNKNOWN_IDS } from './evaluation.harness';

describe('an invalid CSV upload', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;
  const readDataset = async (id: string): Promise<Dataset> =>
    (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).body;

  const faults: [string, string | Buffer, number][] = [
    ['an empty file', '', 1],
    ['a blank line as the header', '\na\n', 1],
    ['a header with an empty name and its replacement name', 'a,,column_2\n1,2,3\n', 1],
    ['metadata that is not JSON', 'input,metadata\nx,{}\ny,{\n', 3],
    ['metadata that is not an object', 'input,metadata\nx,"[1]"\n', 2],
    [
      'metadata with a member that has the name of a column',
      'input,metadata,split\nx,"{""split"":1}",dev\n',
      2,
    ],
    ['a header with a repeated name', 'a,b,a\n1,2,3\n', 1],
    ['more than 256 columns', `${'a,'.repeat(256)}b\n`, 1],
    ['semicolons instead of commas', 'id;q;a\n1;x;y\n', 1],
    ['tabs instead of commas', 'id\tq\n1\tx\n', 1],
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
  it.each(faults)('names the line of %s, in each form', async (_, file, line) => {
    const id = await newDataset();
    for (const form of UPLOAD_FORMS) {
      // JSON cannot express these bytes.
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

  it.each(UPLOAD_FORMS)('names the invalid option (%s)', async (form) => {
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
    expect(await refused({ mapping: { metadata: ['id'], tags: ['answer', 'id'] } })).toEqual(
      where('/mapping/tags/1'),
    );
    expect(await refused({ mapping: { input: ['question', 'id'] } })).toEqual(where('/mapping/input/1'));
    expect(await refused({ case_id_column: 'answer', mapping: { input: ['answer'] } })).toEqual(
      where('/mapping/input/0'),
    );
    expect(await refused({ mapping: { inputs: ['question'] } })).toEqual(where('/mapping/inputs'));
    expect(await refused({ mapping: { input: 'id' } })).toEqual(where('/mapping/input'));
    expect(await refused({ mapping: { expected: 'nope' } })).toEqual(where('/mapping/expected'));
    expect(await refused({ mapping: { expected: 1 } })).toEqual(where('/mapping/expected'));
    expect(await refused({ mapping: { input: [1] } })).toEqual(where('/mapping/input'));
    expect(await refused({ mapping: [] })).toEqual(where('/mapping'));
    expect(await refused({ mapping: 'x' })).toEqual(where('/mapping'));
    expect(await refused({ workspace_id: 'wsp_x' })).toEqual(where('/workspace_id'));
  });

  it('names options outside the body and missing members', async () => {
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

  it('names the position in a mapping that is not JSON', async () => {
    const id = await newDataset();
    for (const form of ['text', 'form'] as const) {
      for (const [mapping, detail] of [
        ['{"input": [}', /^must be JSON: there is "}" at line 1, column 12, where a value/],
        ['', /^must be JSON: it is empty/],
        ['{"input": ["\\u0000"]}', /NUL/],
      ] as const) {
        const answer = await upload(space.editor, id, FILE, { mapping }, form);
        expect([form, mapping, answer.status]).toEqual([form, mapping, 400]);
        const [first] = (answer.body as unknown as { errors: { detail: string }[] }).errors;
        expect(first!.detail).toMatch(detail);
        expect(JSON.stringify(answer.body)).not.toMatch(/the body/i);
      }
    }
  });

  it('gets 415 for another media type, charset or coding', async () => {
    const path = versionsOf(await newDataset());
    for (const type of ['text/plain', 'application/octet-stream', 'text/csv; charset=iso-8859-1']) {
      expect(outcome(await space.editor.post(path, FILE, { 'content-type': type }))).toEqual([
        415,
        'unsupported_media_type',
      ]);
    }
    const json = { workspace_id: space.id, content: FILE };
    expect(
      (await space.editor.post(path, json, { 'content-type': 'application/json; charset=latin1' })).status,
    ).toBe(415);
    const form = new FormData();
    const latin = { type: 'text/csv; charset=iso-8859-1' };
    form.append('file', new Blob([Buffer.from('a\nGrüße\n', 'latin1')], latin), 'cases.csv');
    expect(outcome(await space.editor.post(path, form))).toEqual([400, 'invalid_request']);
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

  it('gets 404 for an unknown or foreign dataset, and 409 for an archived one', async () => {
    const id = await newDataset();
    await uploadVersion(space, id, FILE);
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
      expect([number, (await space.viewer.get(`${versionsOf(id)}/${number}`)).status]).toEqual([number, 404]);
    }
    await space.archive(`/eval/v1/datasets/${id}`);
    expect(outcome(await upload(space.editor, id, 'a\n1\n'))).toEqual([409, 'conflict']);
    // Faults of the request itself take precedence.
    expect((await upload(space.editor, id, 'a\n"')).status).toBe(400);
    expect((await upload(space.editor, 'ds_x', 'a\n"')).status).toBe(400);
    expect((await space.viewer.get(`${versionsOf(id)}/1/content`)).body).toBe(FILE);
    expect(await orphans(app)).toBe(0);
  });

  it('gets 403 for viewers, and 401 without a token', async () => {
    const id = await newDataset();
    expect(outcome(await upload(space.viewer, id, FILE))).toEqual([403, 'access_denied']);
    const anonymous = app.api().in(space.id);
    expect(outcome(await upload(anonymous, id, FILE))).toEqual([401, 'token_missing']);
  });

  it('gets 400 for more than 256 columns', async () => {
    const id = await newDataset();
    const columns = Array.from({ length: 256 }, (_, n) => `c${n}`);
    const most = await uploadVersion(space, id, `${columns.join(',')}\n${columns.join(',')}\n`);
    expect(most).toMatchObject({ column_count: 256, columns, case_id_column: null });
    const [row] = await space.list<DatasetCase>(`${versionsOf(id)}/1/rows`);
    expect(row!.input).toEqual(Object.fromEntries(columns.map((column) => [column, column])));
    expect((await upload(space.editor, id, `${columns.join(',')},x\n`)).status).toBe(400);
  });
});
