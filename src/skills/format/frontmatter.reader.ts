import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { FRONTMATTER_NAMES } from './skill-members';
import { ALIASES_MAX, aliasTargets, nameIn, unfit } from './frontmatter.parser';

/** Values that are read, those that aliases repeat counted each time. */
const VALUES_MAX = 10_000;
const DEPTH_MAX = 64;

/** Tags of collections that are what they are without. */
const PLAIN_TAGS = new Set([undefined, 'tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq']);

/** Reads what a frontmatter holds, as JSON has it. Throws `SkillFault` for what has no JSON form. */
export class FrontmatterReader {
  private values = 0;
  private aliases = 0;
  private readonly targets: ReadonlyMap<Alias, Node>;

  constructor(private readonly document: Document) {
    this.targets = aliasTargets(document);
  }

  /** The value of a member; null where there is none. @param member as it is written in the frontmatter */
  read(member: string): unknown {
    const node = isMap(this.document.contents) ? this.document.contents.get(member, true) : undefined;
    return node === undefined ? null : this.valueOf(node, member, 0);
  }

  private valueOf(node: unknown, member: string, depth: number): unknown {
    if (++this.values > VALUES_MAX) throw unfit('has too many values');
    if (depth > DEPTH_MAX) throw unfit('is nested too deeply');
    if (isAlias(node)) {
      // counted each time: what one stands for may hold others, and all of it is told again
      if (++this.aliases > ALIASES_MAX)
        throw unfit(`may have at most ${ALIASES_MAX} aliases, with those in what they stand for`);
      return this.valueOf(this.targets.get(node), member, depth + 1);
    }
    if (isScalar(node)) return scalarOf(node.value, node.source, member);
    // a name in a flow mapping may stand alone
    if (node === null) return null;
    if (isSeq(node) && PLAIN_TAGS.has(node.tag)) {
      return node.items.map((item) => this.valueOf(item, member, depth + 1));
    }
    if (isMap(node) && PLAIN_TAGS.has(node.tag)) return this.objectOf(node.items, member, depth);
    throw withoutJson(member);
  }

  private objectOf(
    items: readonly { key: unknown; value: unknown }[],
    member: string,
    depth: number,
  ): object {
    const members = new Map<string, unknown>();
    for (const { key, value } of items) {
      const name = nameIn(key);
      if (name === undefined) throw unfit(`has a name in ${member} that is no text`);
      if (members.has(name)) throw unfit(`has a name in ${member} twice`);
      members.set(textIn(name, member), this.valueOf(value, member, depth + 1));
    }
    return Object.fromEntries(members);
  }
}

function scalarOf(value: unknown, source: string | undefined, member: string): unknown {
  if (typeof value === 'string') return textIn(value, member);
  if (typeof value === 'number') return member === FRONTMATTER_NAMES.metadata ? told(value, source) : value;
  if (typeof value === 'boolean' || value === null) return value;
  throw withoutJson(member);
}

/** What is unlike a number as JSON has it, such as `1.0` or `.inf`, is told as it is written. */
function told(value: number, source: string | undefined): number | string {
  const asJson = JSON.stringify(value);
  return asJson === source ? value : (source ?? asJson);
}

function textIn(text: string, member: string): string {
  if (/[\0\p{Cs}]/u.test(text)) throw unfit(`has a NUL character or half of a character in ${member}`);
  return text;
}

const withoutJson = (member: string) =>
  unfit(`has a value in ${member} that JSON does not have, such as a set, a time or binary data`);
