import { type Answer, sharedApp } from '#testing';
import { uploadVersion } from './dataset-versions.fixture';
import { EvaluationWorkspace, outcome, places, type ProblemBody } from './evaluation.harness';
import { datasetOf, importRecords, jsonLines, MEDIA, recordsOf } from './record-transfer.fixture';

const detailOf = (answer: Answer<unknown>) => (answer.body as ProblemBody).detail;

describe('invalid imports', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const faults: [string, string, string, string, RegExp][] = [
    [
      'invalid JSON',
      'jsonl',
      '{"input":1}\n{"input":',
      '/lines/2',
      /^\/lines\/2: The line is not JSON: it ends at column 10/,
    ],
    ['a line that is not an object', 'jsonl', '{"input":1}\n\n[1]\n', '/lines/3', /must be a JSON object/],
    ['no input', 'jsonl', '{"expected":1}\n', '/lines/1/input', /must be present|is required/],
    ['a NUL in a label', 'jsonl', '{"input":1,"label":"\\u0000"}\n', '/lines/1/label', /NUL/],
    [
      'a number that is not finite',
      'jsonl',
      '{"input":1}\n{"input":[1e400]}',
      '/lines/2/input/0',
      /too large/,
    ],
    ['an empty label', 'jsonl', '{"input":1,"label":""}', '/lines/1/label', /./],
    [
      'bytes that are not UTF-8',
      'jsonl',
      Buffer.from('{"input":"\xff"}', 'latin1').toString('latin1'),
      '/lines/1',
      /UTF-8/,
    ],
    [
      'a cell that is not JSON',
      'csv',
      'input\n1\n"{""a"":"\n',
      '/lines/3/input',
      /must be JSON text: the field is not JSON/,
    ],
    ['a row with another number of fields', 'csv', 'input,label\n1\n', '/lines/2', /has 1 field, but/],
    [
      'an unknown column',
      'csv',
      'input,color\n1,red\n',
      '/lines/1',
      /unknown column "color"\. With cells=json, the known columns are input, expected/,
    ],
    ['no column input', 'csv', 'label\nx\n', '/lines/1', /does not name the column input/],
    ['an empty input', 'csv', 'input,label\n1,a\n,b\n', '/lines/3/input', /./],
    [
      'metadata that is not JSON',
      'plain',
      'input,metadata\na,{}\nb,{\n',
      '/lines/3',
      /metadata that is not JSON/,
    ],
    [
      'metadata with a member that has the name of a column',
      'plain',
      'input,metadata,split\na,"{""split"":1}",dev\n',
      '/lines/2',
      /the member "split"/,
    ],
    [
      'a cell of tags that is too large',
      'plain',
      `input,tags\na,"${'a,'.repeat(200_000)}"\n`,
      '/lines/2',
      /256 KiB in one field/,
    ],
    [
      'semicolons instead of commas',
      'plain',
      'question;answer\n1;2\n',
      '/lines/1',
      /semicolons separate names such as "answer"/,
    ],
    ['a quote left open', 'csv', 'input\n1\n"2\n', '/lines/3', /never closed/],
    ['no header', 'csv', '', '/lines/1', /header row/],
  ];
  it.each(faults)(
    'are rejected as a whole for %s in %s, and name the line',
    async (what, format, text, pointer, detail) => {
      const id = (await space.dataset()).dataset_id;
      const bytes = what.includes('UTF-8') ? Buffer.from(text, 'latin1') : text;
      const media = format === 'jsonl' ? MEDIA.jsonl : MEDIA.csv;
      const answer = await importRecords(
        space.editor,
        id,
        bytes,
        format === 'csv' ? 'cells=json' : '',
        media,
      );
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', pointer]);
      expect(detailOf(answer)).toMatch(detail);
      expect((await datasetOf(space, id)).record_count).toBe(0);
    },
  );

  it('list at most 100 faults', async () => {
    const id = (await space.dataset()).dataset_id;
    const file = jsonLines(
      Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? { input: n } : { label: n })),
    );
    const answer = await importRecords(space.editor, id, file);
    expect(places(answer)).toHaveLength(100);
    expect(places(answer).slice(0, 3)).toEqual(['/lines/2/input', '/lines/2/label', '/lines/4/input']);
  });

  it('name the lines that violate the schemas of the dataset', async () => {
    const schemas = {
      input_schema: { type: 'object', required: ['q'] },
      expected_schema: { type: ['string', 'null'] },
    };
    const { dataset_id: id } = await space.dataset(schemas);
    const good = { input: { q: 1 }, expected: 'x' };
    const answer = await importRecords(
      space.editor,
      id,
      jsonLines([good, { input: {} }, good, { input: { q: 1 }, expected: 7 }]),
    );
    expect([...outcome(answer), ...places(answer)]).toEqual([
      400,
      'invalid_request',
      '/lines/2/input/q',
      '/lines/4/expected',
    ]);
    expect((await importRecords(space.editor, id, jsonLines([good, good]))).body.created_count).toBe(2);
    const { version } = await uploadVersion(space, id, 'q\nx\n');
    expect((await space.post(`${recordsOf(id)}/import`, { dataset_version: version })).status).toBe(200);
    const other = await uploadVersion(space, id, 'r\nx\n');
    const refused = await space.post(`${recordsOf(id)}/import`, { dataset_version: other.version });
    expect([...outcome(refused), ...places(refused)]).toEqual([400, 'invalid_request', '/lines/2/input/q']);
  });

  it('do not include unchanged members that violate a later schema', async () => {
    const { dataset_id: id } = await space.dataset();
    const line = (n: number, more: object = {}) => ({ external_id: `r${n}`, input: `free ${n}`, ...more });
    expect((await importRecords(space.editor, id, jsonLines([line(1), line(2)]))).status).toBe(200);
    await space.editor.patch(`/eval/v1/datasets/${id}`, { input_schema: { type: 'object' } });
    const same = jsonLines([line(1), line(2)]);
    expect((await importRecords(space.editor, id, same, 'on_conflict=skip')).body.skipped_count).toBe(2);
    const labelled = jsonLines([line(1), line(2, { label: 'seen' })]);
    const updated = await importRecords(space.editor, id, labelled, 'on_conflict=update');
    expect(updated.body).toMatchObject({ unchanged_count: 1, updated_count: 1 });
    // New and changed members must match the schema, and nothing is imported.
    const mixed = jsonLines([line(1, { label: 'x' }), line(2, { input: 'other' }), line(3), { input: {} }]);
    for (const [query, pointers] of [
      ['on_conflict=skip', ['/lines/3/input']],
      ['on_conflict=update', ['/lines/2/input', '/lines/3/input']],
      ['', ['/lines/1/input', '/lines/2/input', '/lines/3/input']],
    ] as const) {
      const refused = await importRecords(space.editor, id, mixed, query);
      expect([...outcome(refused), ...places(refused)]).toEqual([400, 'invalid_request', ...pointers]);
    }
    expect((await datasetOf(space, id)).record_count).toBe(2);
  });

  it('return 409 for a repeated external_id, and name both lines', async () => {
    const id = (await space.dataset()).dataset_id;
    const file = jsonLines([{ input: 1, external_id: 'a' }, { input: 2 }, { input: 3, external_id: 'a' }]);
    for (const query of ['', 'on_conflict=skip', 'on_conflict=update']) {
      const answer = await importRecords(space.editor, id, file, query);
      expect([...outcome(answer), ...places(answer)]).toEqual([409, 'conflict', '/lines/3/external_id']);
      expect(detailOf(answer)).toMatch(/line 1/);
    }
  });

  it('are checked in order: form, dataset, state, values', async () => {
    const id = (await space.dataset()).dataset_id;
    const badForm = '{"input":1,"source_kind":"x"}\n{}\n';
    const badValue = '{"input":1}\n{"input":1,"source_kind":"x"}\n';
    expect(outcome(await importRecords(space.editor, 'ds_x', badForm))).toEqual([400, 'invalid_request']);
    expect(outcome(await importRecords(space.editor, 'ds_x', badValue))).toEqual([404, 'not_found']);
    const values = await importRecords(space.editor, id, badValue);
    expect([...outcome(values), ...places(values)]).toEqual([
      422,
      'validation_failed',
      '/lines/2/source_kind',
    ]);
    await space.archive(`/eval/v1/datasets/${id}`);
    expect(outcome(await importRecords(space.editor, id, badValue))).toEqual([409, 'conflict']);
    expect(outcome(await importRecords(space.editor, id, badForm))).toEqual([400, 'invalid_request']);
    expect((await space.viewer.get(`${recordsOf(id)}/export`)).status).toBe(200);
  });

  it.each<[string, string | Buffer, string, string, number, string]>([
    ['with an unknown media type', 'x', 'text/plain', '', 415, 'unsupported_media_type'],
    [
      'in another charset',
      '{"input":1}',
      'application/jsonl; charset=latin1',
      '',
      415,
      'unsupported_media_type',
    ],
    [
      'with an unknown on_conflict',
      '{"input":1}',
      'application/jsonl',
      'on_conflict=merge',
      422,
      'validation_failed',
    ],
    [
      'with an unknown parameter',
      '{"input":1}',
      'application/jsonl',
      'on_conflct=skip',
      400,
      'invalid_query',
    ],
    ['for another workspace', '{"input":1}', 'application/jsonl', 'workspace_id=wsp_x', 400, 'invalid_query'],
    ['with a query and a JSON body', '{}', 'application/json', 'on_conflict=skip', 400, 'invalid_query'],
    ['without a version', '{"workspace_id":"x"}', 'application/json', '', 400, 'invalid_request'],
    [
      'with a body that is too large',
      Buffer.alloc(32 * 1024 * 1024 + 1, 'x'),
      'application/jsonl',
      '',
      413,
      'payload_too_large',
    ],
    [
      'with JSON Lines and the parameter cells',
      '{"input":1}',
      MEDIA.jsonl,
      'cells=text',
      400,
      'invalid_query',
    ],
    ['with an unknown value of cells', 'input\na\n', MEDIA.csv, 'cells=yaml', 422, 'validation_failed'],
    ['with an unknown source_kind', 'input,source_kind\na,book\n', MEDIA.csv, '', 422, 'validation_failed'],
  ])('%s are rejected', async (_, body, media, query, status, code) => {
    const id = (await space.dataset()).dataset_id;
    expect(outcome(await importRecords(space.editor, id, body, query, media))).toEqual([status, code]);
  });

  it.each(['skip', 'update'])('return 400 with the first 100 faulty lines: %s', async (onConflict) => {
    const { dataset_id: id } = await space.dataset({ input_schema: { type: 'object' } });
    const lines = Array.from({ length: 2_000 }, (_, i) => ({ external_id: `r${i}`, input: 'no object' }));
    const refused = await importRecords(space.editor, id, jsonLines(lines), `on_conflict=${onConflict}`);
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(places(refused)).toEqual(lines.slice(0, 100).map((_, i) => `/lines/${i + 1}/input`));
  });

  it('return 404 for an unknown version, and 422 for an unknown on_conflict', async () => {
    const id = (await space.dataset()).dataset_id;
    const path = `${recordsOf(id)}/import`;
    const unknown = await space.post(path, { dataset_version: 1, on_conflict: 'merge' });
    expect([...outcome(unknown), ...places(unknown)]).toEqual([404, 'not_found', '/dataset_version']);
    await uploadVersion(space, id, 'q\nx\n');
    const value = await space.post(path, { dataset_version: 1, on_conflict: 'merge' });
    expect([...outcome(value), ...places(value)]).toEqual([422, 'validation_failed', '/on_conflict']);
    const elsewhere = await space.post(`${recordsOf((await space.dataset()).dataset_id)}/import`, {
      dataset_version: 1,
    });
    expect(outcome(elsewhere)).toEqual([404, 'not_found']);
  });
});
