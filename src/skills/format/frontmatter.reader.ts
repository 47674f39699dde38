import { distance } from 'fastest-levenshtein';
import { type Alias, type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';
import { quotedPath } from '../../resources';
import { FRONTMATTER_NAMES } from './skill-members';
import { ALIASES_MAX, aliasTargets, nameIn, frontmatterFault } from './frontmatter.parser';
import { quoteAdvice } from './yaml-advice';

/** The maximum number of values. A value that aliases repeat counts each time. */
const VALUES_MAX = 10_000;
const DEPTH_MAX = 64;

const NAMES: readonly string[] = Object.values(FRONTMATTER_NAMES);
const REQUIRED: ReadonlySet<string> = new Set(['name', 'description']);

/** The maximum length of a name that may be another spelling of a member. */
const SPELLING_MAX = 32;
/** Returns a name without its case and separators. */
const folding = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, '');

/** Returns whether a folded name is a member, or differs from it in one character other than the first. */
const isSpellingOf = (member: string, folded: string): boolean => {
  if (folded[0] !== member[0]) return false;
  return distance(folding(member), folded) <= (member.length > 4 ? 1 : 0);
};

/** Tags of collections that do not change their meaning. */
const PLAIN_TAGS = new Set([undefined, 'tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq']);

/** Reads the values of a frontmatter as JSON. Throws `SkillFault` for values that JSON cannot represent. */
export class FrontmatterReader {
  private values = 0;
  private aliases = 0;
  private readonly targets: ReadonlyMap<Alias, Node>;

  constructor(private readonly document: Document) {
    this.targets = aliasTargets(document);
  }

  /** Returns the value of a member, or null. @param member the name in the frontmatter */
  read(member: string): unknown {
    const node = isMap(this.document.contents) ? this.document.contents.get(member, true) : undefined;
    if (node === undefined) return null;
    const value = this.valueOf(node, member, 0);
    if (value === null && REQUIRED.has(member) && isNode(node) && node.comment) {
      const advice = quoteAdvice(member, `#${node.comment}`);
      throw frontmatterFault(
        `has only a comment as the value of \`${member}\`, because it begins with #. ${advice}`,
      );
    }
    return value;
  }

  /** Rejects names that other programs would not read as the member that they mean. */
  checkSpelling(): void {
    const items = isMap(this.document.contents) ? this.document.contents.items : [];
    for (const { key } of items) {
      const name = nameIn(key) ?? '';
      if (name.length > SPELLING_MAX || NAMES.includes(name)) continue;
      const folded = folding(name);
      const meant = NAMES.find((known) => isSpellingOf(known, folded));
      if (meant !== undefined)
        throw frontmatterFault(`has the name ${quotedPath(name)}. Write it as \`${meant}\``);
    }
  }

  private valueOf(node: unknown, member: string, depth: number): unknown {
    if (++this.values > VALUES_MAX) throw frontmatterFault('has too many values');
    if (depth > DEPTH_MAX) throw frontmatterFault('is nested too deeply');
    if (isAlias(node)) {
      // Counted each time, because the node may contain further aliases.
      if (++this.aliases > ALIASES_MAX)
        throw frontmatterFault(`can have at most ${ALIASES_MAX} aliases, nested ones included`);
      return this.valueOf(this.targets.get(node), member, depth + 1);
    }
    if (isScalar(node)) return scalarOf(node.value, node.source, member);
    // A name in a flow mapping may lack a value.
    if (node === null) return null;
    if (isSeq(node) && PLAIN_TAGS.has(node.tag)) {
      return node.items.map((item) => this.valueOf(item, member, depth + 1));
    }
    if (isMap(node) && PLAIN_TAGS.has(node.tag)) return this.objectOf(node.items, member, depth);
    throw notJson(member);
  }

  private objectOf(
    items: readonly { key: unknown; value: unknown }[],
    member: string,
    depth: number,
  ): object {
    const members = new Map<string, unknown>();
    for (const { key, value } of items) {
      const name = nameIn(key);
      if (name === undefined) throw frontmatterFault(`has a name in ${member} that is not a string`);
      if (members.has(name)) throw frontmatterFault(`has a name in ${member} twice`);
      members.set(textIn(name, member), this.valueOf(value, member, depth + 1));
    }
    return Object.fromEntries(members);
  }
}

function scalarOf(value: unknown, source: string | undefined, member: string): unknown {
  if (typeof value === 'string') return textIn(value, member);
  if (typeof value === 'number')
    return member === FRONTMATTER_NAMES.metadata ? numberAsWritten(value, source) : value;
  if (typeof value === 'boolean' || value === null) return value;
  throw notJson(member);
}

/** Returns a number that JSON writes differently, such as `1.0` or `.inf`, as the string in the frontmatter. */
function numberAsWritten(value: number, source: string | undefined): number | string {
  const asJson = JSON.stringify(value);
  return asJson === source ? value : (source ?? asJson);
}

function textIn(text: string, member: string): string {
  if (/[\0\p{Cs}]/u.test(text))
    throw frontmatterFault(`has a NUL character or an unpaired surrogate in ${member}`);
  return text;
}

const notJson = (member: string) =>
  frontmatterFault(
    `has a value in ${member} that JSON cannot represent, such as a set, a timestamp or binary data`,
  );
