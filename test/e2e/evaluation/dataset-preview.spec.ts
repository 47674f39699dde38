import { sharedApp } from '#testing';
import type { DatasetVersionPreviewDto } from '../../../src/evaluation/datasets/versions/dataset-version.dto';
import { orphans, upload, UPLOAD_FORMS, type UploadForm, versionsOf } from './dataset-versions.fixture';
import { EvaluationWorkspace, outcome, type Wire } from './evaluation.harness';

type Preview = Wire<DatasetVersionPreviewDto>;

describe('a dry run of a CSV upload', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let datasetId: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
  });

  const dryRun = (content: string, options: object = {}, form: UploadForm = 'text', by = space.editor) =>
    upload(by, datasetId, content, options, form, {}, 'dry_run=true');

  const preview = async (content: string, options = {}): Promise<Preview> => {
    const answer = await dryRun(content, options);
    expect([content, answer.status]).toEqual([content, 200]);
    return answer.body as unknown as Preview;
  };

  const warned = async (content: string, options = {}): Promise<unknown[]> =>
    (await preview(content, options)).warnings.map(({ code, column }) => [code, column]);

  it('shows what columns become and the first cases, and stores nothing', async () => {
    const rows = Array.from({ length: 7 }, (_, n) => `c${n},q${n},a${n},s${n}`).join('\n');
    for (const form of UPLOAD_FORMS) {
      const answer = await dryRun(`id,question,answer,source\n${rows}\n`, { mapping: null }, form);
      expect([form, answer.status, answer.headers.get('location')]).toEqual([form, 200, null]);
      expect(answer.body).toEqual({
        columns: [
          { name: 'id', becomes: 'case_id' },
          { name: 'question', becomes: 'input' },
          { name: 'answer', becomes: 'expected' },
          { name: 'source', becomes: 'input' },
        ],
        cases: [0, 1, 2, 3, 4].map((n) => ({
          case_id: `c${n}`,
          input: { question: `q${n}`, source: `s${n}` },
          expected: `a${n}`,
          metadata: {},
          tags: [],
        })),
        row_count: 7,
        warnings: [],
      });
    }
    expect(await space.list(versionsOf(datasetId))).toEqual([]);
    expect(await orphans(app)).toBe(0);
  });

  it('reads the whole file, so that a fault in its last line is found before the upload', async () => {
    const answer = await dryRun('id,question\n1,a\n2,b\n1,c\n');
    expect(answer.body).toMatchObject({
      status: 400,
      errors: [{ detail: expect.stringMatching(/^line 4 has the case id "1"/) }],
    });
    const json = await dryRun('input,metadata\na,{}\nb,{\n');
    expect(json.body).toMatchObject({ errors: [{ detail: expect.stringMatching(/^line 3 .*not JSON/) }] });
    const unknown = await dryRun('a\n1\n', { mapping: { expected: 'b' } });
    expect(outcome(unknown)).toEqual([400, 'invalid_query']);
  });

  it('requires the role of an upload, and a live dataset', async () => {
    expect(outcome(await dryRun('a\n1\n', {}, 'text', space.viewer))).toEqual([403, 'access_denied']);
    const { dataset_id } = await space.dataset();
    await space.archive(`/eval/v1/datasets/${dataset_id}`);
    const archived = await upload(space.editor, dataset_id, 'a\n1\n', {}, 'text', {}, 'dry_run=true');
    expect(outcome(archived)).toEqual([409, 'conflict']);
    const missing = await upload(space.editor, 'ds_x', 'a\n1\n', {}, 'text', {}, 'dry_run=true');
    expect(outcome(missing)).toEqual([404, 'not_found']);
  });

  it('stores the file with dry_run=false', async () => {
    const { dataset_id } = await space.dataset();
    const answer = await upload(space.editor, dataset_id, 'a\n1\n', {}, 'text', {}, 'dry_run=false');
    expect([answer.status, answer.body.version]).toEqual([201, 1]);
  });

  it('warns about an answer that would reach the prompt', async () => {
    const columns = [
      ...['expected_answer', 'correct_answer', 'reference_output', 'gold', 'gold_answer', 'golden', 'label'],
      ...['labels', 'groundtruth', '__expected', 'answer_key', 'gt', 'result', 'output', 'response', 'key'],
      ...['completion', 'reply', 'assistant', 'solution', 'correct', 'model_solution', 'gold-sql'],
      ...['Correct Answer', 'correctAnswer', 'goldanswer', 'Answer-Key', 'AnswerKey', 'Expected Result'],
    ];
    for (const column of columns) {
      expect(await warned(`id,question,${column}\n1,a,b\n2,c,d\n`)).toEqual([
        ['no_expected', null],
        ['expected_in_input', column],
      ]);
    }
    const others = 'id,question,answer_choices,search_result,api_key,answer\n1,a,x,r,k,b\n2,c,y,s,l,d\n';
    expect(await warned(others)).toEqual([]);
    expect(await warned('id,question,gold\n1,a,b\n2,c,d\n', { mapping: { expected: 'gold' } })).toEqual([]);
  });

  it('warns about a second column of the expected value, and one that a mapping turns into metadata', async () => {
    expect(await warned('id,input,answer,target\n1,a,b,c\n2,d,e,f\n')).toEqual([
      ['second_expected', 'target'],
    ]);
    expect(await warned('id,input,answer\n1,a,b\n2,d,e\n', { mapping: { input: 'input' } })).toEqual([
      ['no_expected', null],
      ['second_expected', 'answer'],
    ]);
  });

  it('warns about a part of the prompt that becomes metadata', async () => {
    const names = ['instruction', 'Instructions', 'question', 'prompt', 'query', 'context', 'system'];
    for (const column of [...names, 'system_prompt', 'systemPrompt', 'System-Prompt', 'messages']) {
      const file = `id,${column},input,output\n1,a,b,c\n2,d,e,f\n`;
      expect(await warned(file)).toEqual([
        ['no_expected', null],
        ['prompt_in_metadata', column],
      ]);
      const mapping = { input: [column], expected: 'output' };
      expect(await warned(file, { mapping: { ...mapping, input: [column, 'input'] } })).toEqual([
        ['input_is_object', 'input'],
      ]);
      expect(await warned(file, { mapping: { ...mapping, input: 'input', metadata: [column] } })).toEqual([]);
    }
    expect(await warned('id,input,answer,question_id,operating_system\n1,a,b,c,d\n2,e,f,g,h\n')).toEqual([]);
  });

  it('warns about case ids that are row numbers, and names the column that looks like one', async () => {
    expect(await warned('question_id,input,answer\n1,a,b\n2,d,e\n')).toEqual([
      ['row_numbers_as_case_ids', 'question_id'],
    ]);
    expect(await warned(',question,answer\n0,a,b\n1,d,e\n')).toEqual([
      ['unnamed_column_in_input', 'column_1'],
      ['row_numbers_as_case_ids', null],
    ]);
  });

  it('warns about inputs that are empty, or objects with a member input', async () => {
    expect(await warned('id,answer\n1,a\n2,b\n')).toEqual([['no_input', null]]);
    expect(await warned('id,input,gold\n1,a,b\n2,c,d\n', { mapping: { expected: 'gold' } })).toEqual([
      ['input_is_object', 'input'],
    ]);
  });

  it('warns about empty cells, numbers that become text, and metadata without information', async () => {
    const file = 'id,input,answer,notes,split\n1,a,007,,test\n2,b,-1.5e3, ,test\n3,,42,,test\n';
    expect(await warned(file)).toEqual([
      ['empty_cells', 'input'],
      ['numbers_as_text', 'answer'],
      ['empty_column', 'notes'],
      ['single_value', 'split'],
    ]);
    const late = Array.from({ length: 2_000 }, (_, n) => `${n},q,${n}`).join('\n');
    expect(await warned(`id,question,answer\n${late}\n`)).toEqual([['numbers_as_text', 'answer']]);
    expect(await warned(`id,question,answer\n${late}\nx,q,"one, or two"\n`)).toEqual([]);
    expect(await warned('id,input,answer,split\n')).toEqual([]);
  });

  it('shows fewer cases if they are large', async () => {
    const large = 'x'.repeat(3 * 1024 * 1024);
    const rows = Array.from({ length: 6 }, (_, n) => `${n},${large},a\n`).join('');
    const { cases, row_count } = await preview(`id,input,answer\n${rows}`);
    expect(row_count).toBe(6);
    expect(cases.length).toBeLessThan(5);
    expect(cases[0]).toMatchObject({ input: large });
  });
});
