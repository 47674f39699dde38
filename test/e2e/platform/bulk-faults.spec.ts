import { sharedApp } from '#testing';
import { EXACT, ExactJson } from './exact-values.harness';

describe('items of a bulk call', () => {
  const app = sharedApp();
  let json: ExactJson;

  beforeAll(async () => {
    json = await ExactJson.open(app);
  });

  /** Each fault, with a value that has it, as JSON text, and the pointer of the fault within the value. */
  const INVALID_ITEMS: [string, string, string][] = [
    ['half a surrogate pair', '["\\ud800"]', '/0'],
    ['a number that is not finite', '{"a":[1,1e400]}', '/a/1'],
    ['too many levels', `${'['.repeat(65)}${']'.repeat(65)}`, '/0'.repeat(61)],
  ];

  it.each(INVALID_ITEMS)('are stored even if another item has %s', async (_, value, pointer) => {
    const dataset = await json.dataset();
    const items = Array.from({ length: 100 }, (_, n) => `{"input":${n === 42 ? value : EXACT}}`);
    const { status, body } = await json.send('POST', `${dataset}/records/bulk`, {
      items: `[${items.join(',')}]`,
    });
    expect(status).toBe(207);
    const failed = body.items.filter((item: { status_code: number }) => item.status_code !== 201);
    expect(failed).toEqual([
      {
        index: 42,
        status_code: 400,
        error: expect.objectContaining({
          code: 'invalid_request',
          errors: [{ pointer: `/items/42/input${pointer}`, detail: expect.any(String) as string }],
        }) as unknown,
      },
    ]);
    expect((await json.api.get(`${dataset}/records?limit=0`)).body.page.total).toBe(99);
  });

  it('fail individually in an experiment, in typed members too', async () => {
    const created = await json.send('POST', '/eval/v1/experiments', { name: '"bulk"' });
    const path = `/eval/v1/experiments/${created.body.experiment_id}/results/bulk`;
    const items = [
      `{"case_id":"a","output":${EXACT}}`,
      '{"case_id":"b\\u0000"}',
      '{"case_id":"c","duration_ms":1e400}',
      '{"case_id":"d","trial_index":9007199254740993}',
      '{"case_id":"e","output":{"a":"\\udc00"}}',
      `{"case_id":"f","output":1.0}`,
    ];
    const { status, body } = await json.send('POST', path, { items: `[${items.join(',')}]` });
    expect(status).toBe(207);
    type Item = { status_code: number; error?: { errors: { pointer: string }[] } };
    expect((body.items as Item[]).map((one) => [one.status_code, one.error?.errors[0]?.pointer])).toEqual([
      [201, undefined],
      [400, '/items/1/case_id'],
      [400, '/items/2/duration_ms'],
      [400, '/items/3/trial_index'],
      [400, '/items/4/output/a'],
      [201, undefined],
    ]);
  });

  it('are all rejected if the body is not JSON', async () => {
    const dataset = await json.dataset();
    const { status, body } = await json.send('POST', `${dataset}/records/bulk`, {
      items: '[{"input":1e400},{"input":1,}]',
    });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });
});
