import { snippet, titleOf } from '../evaluate/summary.js';
import { EXIT } from './exit.js';
import type { Evaluation } from './run.js';

/** One line of a report: a check of a gate, or whether the run came to its end. */
interface Check {
  name: string;
  status: 'passed' | 'failed' | 'skipped' | 'error';
  /** The kind of the check, such as `min_mean`. */
  kind: string;
  reason: string;
}

/** Returns the outcomes as JSON: the summary or the error of each evaluation. */
export function toJson(evaluations: readonly Evaluation[]): string {
  const items = evaluations.map(({ name, status, summary, error }) => ({
    name,
    exit_status: status,
    ...(summary ? { summary } : { error: messageOf(error) }),
  }));
  return `${JSON.stringify({ evaluations: items }, null, 2)}\n`;
}

/** Returns a JUnit report: a test suite for each evaluation, with a test case for each check of its gate. */
export function toJUnit(evaluations: readonly Evaluation[]): string {
  const suites = evaluations.map((evaluation) => {
    const checks = checksOf(evaluation);
    const { summary, name } = evaluation;
    const time = ((summary?.durationMs ?? 0) / 1000).toFixed(3);
    const cases = checks.map((check) => {
      const head = `    <testcase classname="${xml(name)}" name="${xml(check.name)}"`;
      const text = xml(check.reason);
      switch (check.status) {
        case 'passed':
          return `${head}><system-out>${text}</system-out></testcase>`;
        case 'skipped':
          return `${head}><skipped message="${text}"/></testcase>`;
        case 'failed':
          return `${head}><failure type="${xml(check.kind)}" message="${text}">${text}</failure></testcase>`;
        case 'error':
          return `${head}><error type="${xml(check.kind)}" message="${text}">${text}</error></testcase>`;
      }
    });
    const counts = `tests="${checks.length}" failures="${count(checks, 'failed')}" errors="${count(checks, 'error')}"`;
    return [
      `  <testsuite name="${xml(name)}" ${counts} skipped="${count(checks, 'skipped')}" time="${time}">`,
      ...(summary
        ? [
            `    <properties><property name="experiment_id" value="${xml(summary.experimentId)}"/></properties>`,
          ]
        : []),
      ...cases,
      '  </testsuite>',
    ].join('\n');
  });
  const all = evaluations.flatMap(checksOf);
  const totals = `tests="${all.length}" failures="${count(all, 'failed')}" errors="${count(all, 'error')}"`;
  return `${['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${totals}>`, ...suites, '</testsuites>'].join('\n')}\n`;
}

/** Returns GitHub Flavored Markdown, for the summary of a job or a comment: scores, failed checks and regressed cases. */
export function toMarkdown(evaluations: readonly Evaluation[]): string {
  return `${evaluations.map(sectionOf).join('\n\n')}\n`;
}

const WORDS: Record<number, string> = {
  [EXIT.passed]: '✅ passed',
  [EXIT.failed]: '❌ gate failed',
  [EXIT.incomplete]: '⏸ incomplete',
};

function sectionOf(evaluation: Evaluation): string {
  const { name, status, summary, error } = evaluation;
  const title = `### ${WORDS[status] ?? '❌ error'}: ${code(name)}`;
  if (!summary) return [title, '', code(messageOf(error))].join('\n');
  const { cases, scores, regressions, lowest, failures, problems, experimentId } = summary;
  const facts = `${cases.done} of ${cases.total} cases are done, ${cases.failed} failed. Experiment ${code(experimentId)}.`;
  const means = Object.entries(scores).map(
    ([scorer, { mean, count: number, change }]) =>
      `| ${code(scorer)} | ${rounded(mean)} | ${number} | ${rounded(change?.baselineMean)} | ${change?.verdict ?? ''} |`,
  );
  const checks = checksOf(evaluation).map(
    (check) => `| ${MARKS[check.status]} ${check.status} | ${code(check.name)} | ${cell(check.reason)} |`,
  );
  return [
    title,
    '',
    facts,
    ...block(['| scorer | mean | results | baseline | change |', '| - | - | - | - | - |'], means),
    ...block(['| | check | |', '| - | - | - |'], checks),
    ...block(
      ['Regressed cases:', ''],
      regressions.map((one) => `- ${code(one.caseId)}: ${code(one.scorer)} ${rounded(one.difference)}`),
    ),
    ...block(
      ['Lowest scores:', ''],
      lowest.map(
        (one) =>
          `- ${code(one.caseId)}: ${code(one.scorer)} ${rounded(one.score)}, ${code(snippet(one.output))}`,
      ),
    ),
    ...block(
      ['Failed cases:', ''],
      failures.map(
        ({ caseId, input, count: all, error: reason }) =>
          `- ${code(caseId)} ${code(snippet(input))}${all > 1 ? ` and ${all - 1} more` : ''}: ${code(reason)}`,
      ),
    ),
    ...block(
      [],
      problems.map((problem) => `- ${cell(problem)}`),
    ),
  ].join('\n');
}

/** Returns lines with a heading, and nothing without lines. */
const block = (heading: readonly string[], lines: readonly string[]): string[] =>
  lines.length > 0 ? ['', ...heading, ...lines] : [];

const MARKS: Record<Check['status'], string> = { passed: '✅', failed: '❌', skipped: '⏭', error: '❌' };

/** The checks of an evaluation's gate, and first whether it ran to its end. */
function checksOf({ summary, error }: Evaluation): Check[] {
  if (!summary) return [{ name: 'run', kind: 'error', status: 'error', reason: messageOf(error) }];
  const { cases, gate, status, problems } = summary;
  const isIncomplete = status === 'incomplete';
  const progress = `${cases.done} of ${cases.total} cases are done, ${cases.failed} failed.`;
  return [
    {
      name: 'run',
      kind: 'incomplete',
      status: isIncomplete ? 'error' : 'passed',
      reason: isIncomplete ? [progress, ...problems].join(' ') : progress,
    },
    ...(gate?.checks ?? []).map((check) => ({ ...check, name: titleOf(check) })),
  ];
}

const count = (checks: readonly Check[], status: Check['status']): number =>
  checks.filter((check) => check.status === status).length;

const rounded = (value: number | null | undefined): string =>
  value == null ? '' : String(Number(value.toPrecision(6)));

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Characters that XML 1.0 does not allow. */
const XML_INVALID = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
const xml = (text: string): string =>
  text
    .replace(XML_INVALID, '\uFFFD')
    .replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Writes a text as a code span that cannot contain markup, on one line. */
function code(text: string): string {
  const line = oneLine(text).replaceAll('|', '\\|');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((row) => row.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line.trim() === '' ? '(blank)' : line} ${fence}`;
}

/** Writes a text of the service or the client as the cell of a table. Names in it cannot become markup. */
const cell = (text: string): string =>
  oneLine(text).replace(/[\\`*_[\]<>|@#]/g, (character) => `\\${character}`);

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
