import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeWithPackages, runToEnd } from '../../start/start.harness';

const PACKAGE = path.resolve('clients/typescript/dist/agent-registry.tgz');

const SPEC = `
import { gateMatchers } from 'agent-registry/vitest';
import { expect, it } from 'vitest';

expect.extend(gateMatchers);
const summary: object = {
  status: 'failed', experimentId: 'exp_1', scores: { exact: { mean: 0.5, count: 4 } },
  cases: { total: 4, done: 4, failed: 0, pending: 0 },
  gate: { checks: [{ kind: 'min_mean', scorer: 'exact', status: 'failed', reason: 'The mean is 0.5.' }] },
  regressions: [], problems: [],
};

it('has a mean', () => expect(summary).toHaveMean('exact', { atLeast: 0.5 }));
it('passes the gate', () => expect(summary).toPassGate());
`;

/** Where `expect` is global, importing the module is enough. */
const GLOBAL_SPEC = `
import 'agent-registry/vitest';

it('has no gate', () => expect(() => expect({ experimentId: 'e', scores: {} }).toPassGate()).toThrow('has no gate'));
`;

describeWithPackages('vitest', [PACKAGE, 'vitest@^3', 'typescript@^5'], (modules) => {
  const folder = path.dirname(modules);

  it('has the matchers, and their types', async () => {
    writeFileSync(path.join(folder, 'gate.test.ts'), SPEC);
    const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', types: [] };
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['gate.test.ts'] }),
    );
    const types = await runToEnd([path.join(modules, '.bin/tsc'), '--skipLibCheck', '-p', folder]);
    expect(types).toMatchObject({ code: 0, stdout: '' });
    writeFileSync(path.join(folder, 'global.test.js'), GLOBAL_SPEC);
    const command = [path.join(modules, '.bin/vitest'), 'run', '--globals'];
    const { code, stdout, stderr } = await runToEnd(command, { cwd: folder });
    expect([code, stdout]).toEqual([1, expect.stringContaining('1 failed | 2 passed')]);
    expect(stderr).toContain('exact, min_mean: The mean is 0.5.');
  }, 60_000);
});
