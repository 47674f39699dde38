import { readFileSync } from 'node:fs';
import { sharedApp, HttpForwarder, newOrganization } from '#testing';
import { MUST_PASS, UNMET } from './conformance.expected';
import { failuresOf, runConformance } from './conformance.harness';

const RUNS: [string, string[], string][] = [
  ['2025-06-18', ['--suite', 'all', '--spec-version', '2025-06-18'], '2025-06-18'],
  ['2025-11-25', ['--suite', 'all', '--spec-version', '2025-11-25'], '2025-11-25'],
  ['2026-07-28', ['--suite', 'all', '--spec-version', '2026-07-28'], '2026-07-28'],
  ['the requirements of 2026-07-28', ['--requirements', '2026-07-28'], '2026-07-28'],
];

/** The scenarios of the extension for tasks, which the endpoint does not declare. The runner does not count them. */
const UNDECLARED = /^tasks-/;

/** The scenarios of the extension for skills, which the endpoint declares. */
const SKILLS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

/** Runs the official conformance suite through a proxy that adds the token, because the runner cannot send one. */
describe('the MCP endpoint in the conformance suite', () => {
  const app = sharedApp();
  let proxy: HttpForwarder;

  beforeAll(async () => {
    const org = await newOrganization(app);
    proxy = await HttpForwarder.to([app.url], {
      authorization: `Bearer ${await org.token('evaluator')}`,
      'x-service-workspace-id': org.workspaceId,
    });
    const skill = await (
      await org.as('editor')
    ).post('/skill/v1/skills', {
      workspace_id: org.workspaceId,
      name: 'refunds',
      description: 'Answers questions about refunds.',
      instructions: 'Look up the order.',
      files: [{ path: 'references/policy.md', content: 'Refunds take five days.' }],
    });
    expect(skill.status).toBe(201);
  });
  afterAll(async () => {
    await proxy.close();
  });

  it.each(RUNS)(
    'passes %s, except for what needs fixtures of the suite',
    async (_, selection, revision) => {
      const results = await runConformance(`${proxy.url}/mcp`, selection);
      for (const scenario of results.keys()) if (UNDECLARED.test(scenario)) results.delete(scenario);
      const expected = Object.entries(UNMET)
        .filter(([scenario]) => results.has(scenario))
        .flatMap(([scenario, { checks }]) => checks.map((check) => `${scenario}: ${check}`));
      expect(failuresOf(results).sort()).toEqual(expected.sort());
      const passed = MUST_PASS[revision]!.filter((scenario) =>
        results.get(scenario)?.some(({ status }) => status === 'SUCCESS'),
      );
      expect(passed).toEqual(MUST_PASS[revision]);
    },
    180_000,
  );

  it.each(SKILLS)('passes %s of the extension for skills', async (scenario) => {
    const results = await runConformance(`${proxy.url}/mcp`, ['--scenario', scenario]);
    expect([...results.keys()]).toEqual([scenario]);
    expect(failuresOf(results)).toEqual([]);
    expect(results.get(scenario)!.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(1);
  });
});

describe('the list of scenarios in docs/reference/mcp.md', () => {
  it('names what fails, and what each scenario needs', () => {
    const page = readFileSync('docs/reference/mcp.md', 'utf8');
    const [, section = ''] = page.split('\n## Conformance\n');
    const rows = [...section.matchAll(/^\| `([a-z0-9-]+)` +\| (.*?) +\|$/gm)].map(([, name, needs]) => [
      name,
      needs,
    ]);
    expect(rows).toEqual(Object.entries(UNMET).map(([name, { needs }]) => [name, needs]));
  });
});
