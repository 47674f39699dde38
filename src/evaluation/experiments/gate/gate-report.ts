import {
  CHECK_STATUSES,
  type CheckStatus,
  type GateCheckDto,
  type GateResultDto,
  isUpperBound,
} from './gate.dto';

/** Media types of a gate's result. The first is the default. */
export const GATE_MEDIA = [
  'application/json',
  'application/xml',
  'text/xml',
  'application/junit+xml',
  'text/markdown',
] as const;
export type GateMedia = (typeof GATE_MEDIA)[number];

/**
 * Formats a number with six significant digits, which hides rounding errors. Keeps all digits if the number misses a bound
 * that has the same six digits.
 */
export function formatNumber(number: number | null, bound: number | null): string {
  if (number === null) return 'none';
  const few = rounded(number);
  return String(bound !== null && few === rounded(bound) && number !== bound ? number : few);
}

const rounded = (number: number): number => Number(number.toPrecision(6));

/** Marks a check of the lower end of an interval. */
const CONFIDENT = ' (confident)';

/** Names a check with the value that its rule has. The bounds of regressions have the opposite sign. */
function titleOf({ scorer, kind, bound, confident }: GateCheckDto): string {
  const member = kind === 'max_regression' || kind === 'max_case_regression' ? -bound : bound;
  const subject = scorer === null ? '' : `${scorer} `;
  return `${subject}${kind} ${formatNumber(member, null)}${confident ? CONFIDENT : ''}`;
}

const countOf = (checks: readonly GateCheckDto[], status: CheckStatus): number =>
  checks.filter((check) => check.status === status).length;

/** Formats the result as a JUnit report for CI systems: the experiment is a test suite, and each check a test case. */
export function toJUnit(result: GateResultDto): string {
  const { checks } = result;
  const counts = `tests="${checks.length}" failures="${countOf(checks, 'failed')}" errors="0"`;
  const properties = [
    ['experiment_id', result.experiment_id],
    ['experiment_status', result.experiment_status],
    ['baseline_experiment_id', result.baseline_experiment_id ?? ''],
    ['is_truncated', String(result.is_truncated)],
    ['expected_case_count', String(result.coverage.expected_case_count ?? '')],
    ['result_count', String(result.coverage.result_count)],
    ['error_count', String(result.coverage.error_count)],
  ].map(([name, value]) => `<property name="${xml(name!)}" value="${xml(value!)}"/>`);
  const cases = checks.map((check) => {
    const head = `<testcase classname="${xml(result.experiment_name)}" name="${xml(titleOf(check))}"`;
    const reason = xml(check.reason);
    if (check.status === 'passed') return `${head}><system-out>${reason}</system-out></testcase>`;
    if (check.status === 'skipped') return `${head}><skipped message="${reason}"/></testcase>`;
    return `${head}><failure type="${check.kind}" message="${reason}">${reason}</failure></testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="gate" ${counts}>`,
    `<testsuite name="${xml(result.experiment_name)}" ${counts} skipped="${countOf(checks, 'skipped')}">`,
    `<properties>${properties.join('')}</properties>`,
    ...cases,
    '</testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Characters that are not allowed in XML 1.0 (production 2, `Char`). */
const XML_INVALID = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
const XML_ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // parsers turn unescaped ones in attributes into spaces
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

const xml = (text: string): string =>
  text.replace(XML_INVALID, '\uFFFD').replace(/[&<>"'\t\n\r]/g, (character) => XML_ESCAPES[character]!);

/** Formats the result as GitHub Flavored Markdown, for pull request comments and job summaries. */
export function toMarkdown(result: GateResultDto): string {
  const counts = CHECK_STATUSES.map((status) => `${countOf(result.checks, status)} ${status}`);
  const rows = result.checks.map(
    (check) =>
      `| ${MARKS[check.status]} ${check.status} | ${check.scorer === null ? '' : code(check.scorer)} | ${code(check.kind)}${check.confident ? CONFIDENT : ''} | ${formatComparison(check)} | ${check.reason} |`,
  );
  const notes = [
    result.experiment_status === 'running' && 'The experiment is still running, so the result may change.',
    result.is_truncated && 'Only the first 10,000 results count.',
  ].filter((note) => note !== false);
  return [
    `### Gate ${result.passed ? 'passed' : 'failed'}: ${code(result.experiment_name)}`,
    '',
    `Checks: ${counts.join(', ')}. Experiment ${code(result.experiment_id)}${
      result.baseline_experiment_id === null ? '' : `, baseline ${code(result.baseline_experiment_id)}`
    }.`,
    '',
    '| | scorer | check | value | |',
    '| - | - | - | - | - |',
    ...rows,
    ...notes.flatMap((note) => ['', note]),
    '',
  ].join('\n');
}

const MARKS: Record<CheckStatus, string> = { passed: '✅', failed: '❌', skipped: '⏭' };

/** Formats the comparison of a value with its bound. A value that misses the bound never looks equal to it. */
function formatComparison({ kind, status, actual, bound }: GateCheckDto): string {
  const isUpper = isUpperBound(kind);
  const required = isUpper ? '≤' : '≥';
  if (actual === null) return `none; ${required} ${formatNumber(bound, null)} required`;
  const meets = isUpper ? actual <= bound : actual >= bound;
  if (meets && status !== 'passed') return ''; // the reason says why the value does not count
  if (status === 'passed') {
    return `${formatNumber(actual, null)} ${required} ${formatNumber(bound, null)}`;
  }
  return `${formatNumber(actual, bound)} ${isUpper ? '>' : '<'} ${formatNumber(bound, actual)}`;
}

/**
 * Formats a client's text as a code span (CommonMark 6.1), so that it cannot contain markup. The fence is longer than any
 * run of backticks in the text. Pipes are escaped, because tables split at pipes first. Line breaks and other control
 * characters become spaces.
 */
function code(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').replace(/\|/g, '\\|');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((row) => row.length));
  const fence = '`'.repeat(longest + 1);
  // renderers strip one space on either side, so that the text may start with a backtick
  return `${fence} ${line.trim() === '' ? '(blank)' : line} ${fence}`;
}
