import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const RULES = /^```yaml\n(groups:.*?)^```$/ms.exec(readFileSync('docs/guides/monitoring.md', 'utf8'))![1]!;

/** The state of each alert after ten minutes in which a metric has a value. */
const CASES: [metric: string, value: number, alert: string, fires: boolean][] = [
  ['registry_workers_alive', 0, 'NoWorkerRuns', true],
  ['registry_workers_alive', 1, 'NoWorkerRuns', false],
  ['registry_workers_alive', 1, 'NothingRuns', false],
  ['registry_pool_waiting', 0, 'NothingRuns', true],
  ['registry_rule_lag_seconds', 3_600, 'RulesFallBehind', true],
  ['registry_rule_lag_seconds', 60, 'RulesFallBehind', false],
  ['registry_pool_waiting', 3, 'ConnectionsExhausted', true],
  ['registry_pool_waiting', 0, 'ConnectionsExhausted', false],
];

describe('the alerts of docs/guides/monitoring.md', () => {
  it('use only metrics that the reference explains', () => {
    const page = readFileSync('docs/reference/metrics-and-logs.md', 'utf8');
    const explained = new Set([...page.matchAll(/^\| `(registry_\w+)`/gm)].map(([, name]) => name));
    const used = [...RULES.matchAll(/registry_\w+/g)].map(([name]) => name);
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((name) => !explained.has(name))).toEqual([]);
  });

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
  if (!hasPromtool) console.warn('promtool is not installed, so the alerts are not evaluated.');

  (hasPromtool ? it : it.skip)('fire when no worker runs, rules fall behind or connections run out', () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'alerts-'));
    try {
      writeFileSync(path.join(directory, 'rules.yaml'), RULES);
      const tests = CASES.map(([metric, value, alertname, fires]) => ({
        interval: '30s',
        input_series: [{ series: metric, values: `${value}x40` }],
        alert_rule_test: [{ eval_time: '15m', alertname, exp_alerts: fires ? [{ exp_labels: {} }] : [] }],
      }));
      writeFileSync(
        path.join(directory, 'tests.yaml'),
        JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '30s', tests }),
      );
      execFileSync('promtool', ['check', 'rules', path.join(directory, 'rules.yaml')], { stdio: 'pipe' });
      execFileSync('promtool', ['test', 'rules', path.join(directory, 'tests.yaml')], { stdio: 'pipe' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
