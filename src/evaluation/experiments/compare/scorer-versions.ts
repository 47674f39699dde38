import { type CaseTotals, isEnough } from '../../statistics';

/** Version number of scores that name no version. */
export const UNVERSIONED = 0;

/** How many results a version of a scorer has scored. */
export interface ScoredVersion {
  scorer: string;
  /** `UNVERSIONED` for scores that name no version. */
  version: number;
  count: number;
  /** Whether results show one of these scores, by a client or a run. */
  is_current: boolean;
  /** Whether results show all scores under the name, by any version, so that no result has two. */
  is_only: boolean;
  /** The lowest and the highest id of the scorers that gave them; null if no score names one. */
  first_scorer_id: string | null;
  last_scorer_id: string | null;
}

/** The version of one scorer that is read on each side. Null for a side that the scorer has not scored. */
export interface ChosenVersions {
  candidate: number | null;
  baseline: number | null;
}

/**
 * Chooses the version of a scorer whose scores are compared: the requested one, else the newest that scored both sides,
 * else the newest of each side.
 *
 * @param baseline the versions that scored the baseline; null without one
 */
export function chooseVersions(
  candidate: readonly number[],
  baseline: readonly number[] | null,
  requested?: number,
): ChosenVersions {
  if (requested !== undefined) return { candidate: requested, baseline: requested };
  const shared = baseline ? candidate.filter((version) => baseline.includes(version)) : [];
  return {
    candidate: newest(shared) ?? newest(candidate),
    baseline: newest(shared) ?? newest(baseline ?? []),
  };
}

/** Returns the newest version that results show. People's scores are shown where there are no others. */
export function currentVersion(versions: readonly ScoredVersion[]): number | null {
  const current = versions.filter(({ is_current }) => is_current);
  return newest((current.length > 0 ? current : versions).map(({ version }) => version));
}

const newest = (versions: readonly number[]): number | null =>
  versions.length === 0 ? null : Math.max(...versions);

/** Returns why the scores of two versions cannot be compared, or null. A side without scores has nothing to compare. */
export function differingReason({ candidate, baseline }: ChosenVersions): string | null {
  if (candidate === null || baseline === null || candidate === baseline) return null;
  return `The candidate was scored by ${describeVersion(candidate)}, the baseline by ${describeVersion(baseline)}. Score both with the same version.`;
}

/** The results of one side that the chosen version has not scored, but others have. */
export interface OtherVersions {
  otherCount: number;
  /** The newest version that has scored each of them. */
  otherVersions: number[];
}

/** Returns why one side has no single scale, or null. */
export function mixedReason(
  side: 'candidate' | 'baseline',
  version: number | null,
  others: OtherVersions | undefined,
): string | null {
  if (version === null || !others || others.otherCount === 0) return null;
  const [results, have] =
    others.otherCount === 1 ? ['1 result', 'has'] : [`${others.otherCount} results`, 'have'];
  return `The ${side} mixes versions: ${results} ${have} a score by ${others.otherVersions.map(describeVersion).join(' or ')}, but none by ${describeVersion(version)}. Score all results with one version.`;
}

/** The models of the judges that scored each side. */
export interface JudgeModels {
  candidate: readonly string[];
  baseline: readonly string[];
}

/** Returns why the scores of different judges cannot be compared. @param changed number of cases that different judges scored */
export function differentJudgesReason({ candidate, baseline }: JudgeModels, changed: number): string {
  const cases = changed === 1 ? '1 case was' : `${changed} cases were`;
  return (
    `${cases} scored by different judges: the candidate by ${candidate.join(' and ')}, the baseline by ${baseline.join(' and ')}. ` +
    'Score both with the same judge.'
  );
}

/** Returns why the cases of both sides cannot be compared, or null if enough of them have not changed. */
export function changedCasesReason(
  { paired, changed }: Pick<CaseTotals, 'paired' | 'changed'>,
  minComparable: number,
): string | null {
  if (isEnough(paired, changed, minComparable)) return null;
  const cases = paired + changed === 1 ? '1 shared case' : `${paired + changed} shared cases`;
  return (
    `${changed} of ${cases} changed: the input or the expected output differs from the baseline's. ` +
    `At least ${Number((100 * minComparable).toPrecision(6))}% must be the same. Run the baseline again on the changed cases, or see them with only=changed.`
  );
}

/**
 * Returns why the chosen versions belong to different scorers, or null. A scorer that reuses the name of an archived one
 * starts at version 1 again.
 */
export function differentScorersReason(versions: readonly ScoredVersion[]): string | null {
  const ids = new Set(
    versions.flatMap(({ first_scorer_id: first, last_scorer_id: last }) =>
      first === null || last === null ? [] : [first, last],
    ),
  );
  if (ids.size < 2) return null;
  return `Different scorers had this name: ${[...ids].sort().join(', ')}. Score all results with one of them.`;
}

const describeVersion = (version: number): string =>
  version === UNVERSIONED ? 'an unspecified version' : `version ${version}`;
