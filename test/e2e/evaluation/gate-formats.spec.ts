import { sharedApp } from '#testing';
import type { GateResultDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { experimentOf, EXPERIMENTS } from './comparison.fixture';
import { EvaluationWorkspace } from './evaluation.harness';
import { parseXml, type XmlElement } from './xml.fixture';

type Rule = Record<string, unknown>;

describe('the outcome of a gate', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const send = (id: string, body: unknown, headers?: Record<string, string>) =>
    space.viewer.post<GateResultDto>(`${EXPERIMENTS}/${id}/gate`, body, headers);

  /** Names that break a format unless they are escaped. */
  const HOSTILE = [
    '</testcase>',
    '"><failure/>',
    "'",
    '&amp;',
    ']]>',
    'a|b',
    '\\|',
    'line\nbreak\r\n\ttab',
    '`code` ``more``',
    '<script>alert(1)</script>',
    '[link](https://example.com) @everyone',
    '😀 é \u202e',
    '\u0001\u0008\u001b[31m\u007f\ufffe',
    '   ',
    '__proto__',
  ];
  let candidate: string;
  let rules: Rule[];

  beforeAll(async () => {
    const results = HOSTILE.map((name, i) => ({ case_id: `${i}`, scores: { [name]: 0.25 } }));
    candidate = await experimentOf(space, results, { experiment_name: 'run `1` | <b>\n& "two"' });
    rules = HOSTILE.map((scorer, i) => ({ scorer, min_mean: i % 2 === 0 ? 0.5 : 0.25, min_coverage: 0 }));
  });

  const all = (element: XmlElement, name: string): XmlElement[] => [
    ...(element.name === name ? [element] : []),
    ...element.children.flatMap((child) => all(child, name)),
  ];

  it.each(['application/xml', 'text/xml', 'application/junit+xml'])('is returned as JUnit in %s', async (accept) => {
      const answer = await send(candidate, { rules }, { accept });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `${accept}; charset=utf-8`]);
      expect(answer.headers.get('vary')).toContain('Accept');
      const root = parseXml(answer.body as unknown as string);
      expect([root.name, root.attributes.tests, root.attributes.failures]).toEqual(['testsuites', '15', '8']);
      const cases = all(root, 'testcase');
      // Characters that XML cannot contain are replaced. All others are unchanged.
      const names = HOSTILE.map((name) => name.replace(/[\u0001\u0008\u001b\ufffe]/g, '\uFFFD'));
      expect(cases.map((one) => one.attributes.name)).toEqual(
        names.map((name, i) => `${name} min_mean ${i % 2 === 0 ? 0.5 : 0.25}`),
      );
      expect(new Set(cases.map((one) => one.attributes.classname))).toEqual(new Set(['run `1` | <b>\n& "two"']));
      expect(cases.map((one) => all(one, 'failure').length)).toEqual(names.map((_, i) => (i % 2 === 0 ? 1 : 0)));
      expect(all(cases[0]!, 'failure')[0]).toMatchObject({
        attributes: { type: 'min_mean' },
        text: 'The mean of 1 case is 0.25; at least 0.5 is required.',
      });
    }); // oxfmt-ignore

  it('is returned as Markdown with each bound and rounded scores', async () => {
    const scores = [0.1, 0.2, 0.6 + Number.EPSILON];
    const noisy = await experimentOf(
      space,
      scores.map((s, i) => ({ case_id: `${i}`, scores: { s, near: 0.4999999999, steady: 0.1 } })),
    );
    const bounds: Rule[] = [
      { scorer: 's', min_mean: 0.1 + 0.2 - 0.0000000001 },
      { scorer: 's', min_mean: 0.4, min_count: 3 },
      { scorer: 'steady', min_mean: 0.2, confident: true },
      { scorer: 'steady', min_mean: 0.1, confident: true },
      { scorer: 'near', min_mean: 0.5 },
      { scorer: 'misspelt', min_mean: 0.5 },
    ];
    const { body } = await send(
      noisy,
      { rules: bounds.map((rule) => ({ ...rule, min_coverage: 0 })) },
      { accept: 'text/markdown' },
    );
    const rows = (body as unknown as string).split('\n').filter((line) => /^\| (✅|❌)/u.test(line));
    expect(rows.map((row) => row.split(' | ').slice(0, 4).join(' | '))).toEqual([
      '| ✅ passed | ` s ` | ` min_mean ` | 0.3 ≥ 0.3',
      '| ❌ failed | ` s ` | ` min_mean ` | 0.3 < 0.4',
      '| ✅ passed | ` s ` | ` min_count ` | 3 ≥ 3',
      '| ❌ failed | ` steady ` | ` min_mean ` (confident) | 0.1 < 0.2',
      '| ✅ passed | ` steady ` | ` min_mean ` (confident) | 0.1 ≥ 0.1',
      // The mean is not rounded to 0.5, because the check would then seem to pass.
      '| ❌ failed | ` near ` | ` min_mean ` | 0.4999999999 < 0.5',
      '| ❌ failed | ` misspelt ` | ` min_mean ` | none; ≥ 0.5 required',
    ]);
    expect(rows[5]).toContain('The mean of 3 cases is 0.4999999999; at least 0.5 is required.');
  });

  it('is returned as a Markdown table with escaped names', async () => {
    const answer = await send(candidate, { rules }, { accept: 'text/markdown' });
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    const text = answer.body as unknown as string;
    expect(text.startsWith('### Gate failed: `` run `1` \\| <b> & "two" ``\n')).toBe(true);
    const rows = text.split('\n').filter((line) => line.startsWith('| ✅') || line.startsWith('| ❌'));
    expect(rows).toHaveLength(HOSTILE.length);
    // Each row has five cells, so a pipe within a cell is escaped.
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(7);
    const cells = rows.map((row) => row.split(/(?<!\\)\| /)[2]!.trim());
    // Each name is one code span, and does not contain the fence of the span.
    for (const cell of cells) {
      const fence = /^`+/.exec(cell)![0];
      expect(cell.endsWith(` ${fence}`)).toBe(true);
      const within = cell.slice(fence.length, -fence.length);
      expect(within.match(/`+/g)?.includes(fence) ?? false).toBe(false);
    }
    expect(cells[0]).toBe('` </testcase> `');
    expect(cells[5]).toBe('` a\\|b `');
    expect(cells[7]).toBe('` line break tab `');
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
    expect(text).toContain('\nChecks: 7 passed, 8 failed, 0 skipped. Experiment ');
    expect(text).toContain('The experiment is still running, so the result may change.');
  });

  it.each([
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['text/*', 'text/xml'],
    ['image/png', 'application/json'],
    ['not a media type', 'application/json'],
    ['text/markdown;q=0.5, application/xml;q=0.6', 'application/xml'],
    ['application/json;q=0.1, text/markdown', 'text/markdown'],
    ['text/markdown;q=0, */*;q=0.1', 'application/json'],
    ['application/xml;q=0', 'application/json'],
    ['TEXT/MARKDOWN', 'text/markdown'],
  ])('is returned for the Accept header "%s" as %s', async (accept, media) => {
    const answer = await send(candidate, { rules: rules.slice(0, 1) }, { accept });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `${media}; charset=utf-8`]);
  });
});
