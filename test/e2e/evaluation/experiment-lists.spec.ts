import { sharedApp } from '#testing';
import { EvaluationWorkspace, type Experiment, outcome, type Page } from './evaluation.harness';

const EXPERIMENTS = '/eval/v1/experiments';

describe('experiments in a list', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const patch = (id: string, fields: object) => space.editor.patch(`${EXPERIMENTS}/${id}`, fields);
  const matches = async (query: string): Promise<string[]> =>
    (await space.list<Experiment>(`${EXPERIMENTS}?${query}`)).map((one) => one.experiment_name);

  it('match each filter, and all together', async () => {
    const { dataset_id } = await space.dataset();
    const base = await space.experiment({ name: 'base', experiment_name: 'base' });
    const all = {
      dataset_id,
      subject_kind: 'skill',
      subject_id: 'skl_1',
      baseline_experiment_id: base.experiment_id,
    };
    await space.experiment({ ...all, name: 'n', experiment_name: 'all', tags: ['t'], config: { k: 1 } });
    const frozen = await space.experiment({ ...all, name: 'n', experiment_name: 'frozen words' });
    await space.finalize(frozen.experiment_id, { experiment_status: 'failed' });
    expect(await matches('')).toEqual(['frozen words', 'all', 'base']);
    for (const [name, value] of Object.entries(all)) {
      expect([name, await matches(`${name}=${value}`)]).toEqual([name, ['frozen words', 'all']]);
      expect([name, await matches(`${name}=${name === 'subject_kind' ? 'harness' : 'x'}`)]).toEqual([
        name,
        [],
      ]);
    }
    expect(await matches('experiment_status=running')).toEqual(['all', 'base']);
    expect(await matches('experiment_status=failed')).toEqual(['frozen words']);
    expect(await matches('experiment_status=completed')).toEqual([]);
    expect(await matches('name=n')).toEqual(['frozen words', 'all']);
    expect(await matches('name=N')).toEqual([]);
    expect(await matches('tag=t')).toEqual(['all']);
    expect(await matches('q=word%20froz')).toEqual(['frozen words']);
    const rest = { experiment_status: 'running', name: 'n', tag: 't', q: 'all', config: 'k:1' };
    expect(await matches(new URLSearchParams({ ...all, ...rest }).toString())).toEqual(['all']);
  });

  it('are found by numbers in their config in any notation', async () => {
    await space.experiment({
      experiment_name: 'n',
      config: { lr: 1e-5, t: 0.7, one: 1, n: 1e6, 'a:b': -2.5 },
    });
    await space.experiment({ experiment_name: 'text', config: { lr: '1e-5', t: '0.70' } });
    for (const [pair, names] of [
      ['lr:1e-5', ['text', 'n']],
      ['lr:0.00001', ['n']],
      ['t:0.70', ['text', 'n']],
      ['one:1.0', ['n']],
      ['n:1E+6', ['n']],
      ['a:b:-2.50', ['n']],
      ['one:01', []],
      ['lr:1e999', []],
    ] as const) {
      expect([pair, await matches(`config=${encodeURIComponent(pair)}`)]).toEqual([pair, names]);
    }
    expect(await matches('config=lr:1e-5&config=n:1000000.0')).toEqual(['n']);
  });

  it('are found by several scalars in their config, including ones with colons', async () => {
    const long = 'v'.repeat(300);
    const config = {
      model: 'vendor:m-1:latest',
      'a:b': 'c',
      temperature: 0.5,
      big: 1e21,
      stream: true,
      stop: null,
      empty: '',
      long,
      retrieval: { top_k: 5, 'dotted.name': { x: 'y' } },
      list: ['not', 'found'],
    };
    await space.experiment({ experiment_name: 'one', config });
    await space.experiment({ experiment_name: 'two', config: { model: 'vendor:m-1', stream: 'true' } });
    const by = (...pairs: string[]) =>
      matches(pairs.map((pair) => `config=${encodeURIComponent(pair)}`).join('&'));
    for (const pair of [
      ...['model:vendor:m-1:latest', 'a:b:c', 'temperature:0.5', 'big:1e+21', 'stop:null', 'empty:'],
      ...[`long:${long}`, 'retrieval.top_k:5', 'retrieval.dotted.name.x:y'],
    ]) {
      expect([pair, await by(pair)]).toEqual([pair, ['one']]);
    }
    for (const pair of ['model:vendor', 'temperature:0.51', 'list:not', 'top_k:5', `long:${long}v`, 'x:']) {
      expect([pair, await by(pair)]).toEqual([pair, []]);
    }
    expect(await by('stream:true')).toEqual(['two', 'one']);
    expect(await by('stream:true', 'model:vendor:m-1')).toEqual(['two']);
    expect(await by('stream:true', 'model:vendor:m-1', 'temperature:0.5')).toEqual([]);
  });

  it('are found by their changed config', async () => {
    const { experiment_id } = await space.experiment({ config: { model: 'old' } });
    await patch(experiment_id, { config: { model: 'new' } });
    expect(await matches('config=model:old')).toEqual([]);
    expect(await matches('config=model:new')).toHaveLength(1);
    await patch(experiment_id, { config: null });
    expect(await matches('config=model:new')).toEqual([]);
  });

  it('are sorted and paged, by default without archived ones', async () => {
    for (const name of ['b', 'a', 'C']) await space.experiment({ name });
    const [, second, first] = await space.list<Experiment>(EXPERIMENTS);
    await patch(first!.experiment_id, { description: 'changed' });
    expect(await matches('sort=-created_at')).toEqual(['C', 'a', 'b']);
    expect(await matches('sort=created_at')).toEqual(['b', 'a', 'C']);
    expect(await matches('sort=name')).toEqual(['C', 'a', 'b']);
    expect(await matches('sort=-updated_at&limit=1')).toEqual(['b']);
    const page = await space.viewer.get<Page<Experiment>>(`${EXPERIMENTS}?sort=name&limit=2`);
    expect(page.body.page).toMatchObject({ limit: 2, offset: 0, total: 3 });
    expect(await matches(`sort=name&limit=2&cursor=${page.body.page.next_cursor}`)).toEqual(['b']);
    await space.archive(`${EXPERIMENTS}/${second!.experiment_id}`);
    expect(await matches('')).toEqual(['C', 'b']);
    expect(await matches('include_archived=true')).toEqual(['C', 'a', 'b']);
  });

  it('are limited to the workspace', async () => {
    const { dataset_id } = await space.dataset();
    await space.experiment({ dataset_id, config: { k: 'v' }, tags: ['t'] });
    const stranger = (await EvaluationWorkspace.open(app)).viewer;
    for (const caller of [stranger, await space.sibling()]) {
      for (const query of ['', `dataset_id=${dataset_id}`, 'config=k:v', 'tag=t', 'q=evaluation']) {
        const { body } = await caller.get<Page<Experiment>>(`${EXPERIMENTS}?${query}`);
        expect(body).toMatchObject({ items: [], page: { total: 0 } });
      }
    }
  });

  it.each([
    ['experiment_status=done', 422, 'validation_failed'],
    ['subject_kind=model', 422, 'validation_failed'],
    ['status=running', 400, 'invalid_query'],
    ['config=model', 400, 'invalid_query'],
    ['config=:v', 400, 'invalid_query'],
    ['config=a:b&config=c', 400, 'invalid_query'],
    ['config=a:%00', 400, 'invalid_query'],
    [Array.from({ length: 21 }, (_, i) => `config=k${i}:v`).join('&'), 400, 'invalid_query'],
    ['dataset_id=a&dataset_id=b', 400, 'invalid_query'],
  ])('reject the query ?%s with %i', async (query, status, code) => {
    expect(outcome(await space.viewer.get(`${EXPERIMENTS}?${query}`))).toEqual([status, code]);
  });
});
