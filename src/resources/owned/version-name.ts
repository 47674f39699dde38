import { pathNumber } from '#platform/http';
import { problem } from '#platform/problem';

/** The name of the newest version, which no label can have. */
export const LATEST = 'latest';

/** The longest label, in characters. */
export const LABEL_MAX = 64;

export const LABEL_PATTERN = /^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$/;

/** What a label must be, for problem details. */
export const LABEL_RULE = `must start with a lower-case letter and contain only lower-case letters, digits, \`_\`, \`-\` and single dots between them (at most ${LABEL_MAX} characters). \`${LATEST}\` is reserved`;

/** The labels of a resource, and the number of the version that each one points to. */
export type Labels = Readonly<Record<string, number>>;

/** Returns labels in the order of their names, because PostgreSQL may return another. */
export const sortedLabels = (labels: Labels): Record<string, number> =>
  Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));

/** How a request names a version of a resource with labels: by its number, a label, or `latest`. */
export type VersionName = number | string;

/** The columns of a resource that tell which version a name means. */
interface LabelledVersions {
  /** The number of the newest version. */
  version_ordinal: number;
  labels: Labels;
}

/** Tells whether a text names a version by a label or as `latest`. */
export const isVersionLabel = (text: string): boolean => text.length <= LABEL_MAX && LABEL_PATTERN.test(text);

/** Tells whether a value can be a label. */
export const isLabel = (value: unknown): value is string =>
  typeof value === 'string' && value !== LATEST && isVersionLabel(value);

/** Returns the label in a path. Throws 400 for a text that cannot be one. */
export function pathLabel(text: string): string {
  if (!isLabel(text)) throw problem.invalidPath('label', LABEL_RULE);
  return text;
}

/** Returns the version that a path names. Throws 404 for a text that cannot name one, as for an unknown version. */
export const pathVersion = (text: string, kind: string): VersionName =>
  isVersionLabel(text) ? text : pathNumber(text, kind);

/** Returns the number of the version that a name means. It may not exist. Null for a label that points to no version. */
export function ordinalOf({ version_ordinal, labels }: LabelledVersions, name: VersionName): number | null {
  if (typeof name === 'number') return name;
  if (name === LATEST) return version_ordinal;
  // own members only, because `constructor` is a label too
  return Object.hasOwn(labels, name) ? labels[name]! : null;
}
