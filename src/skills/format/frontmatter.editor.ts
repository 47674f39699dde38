import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  type Node,
  Pair,
  visit,
  YAMLMap,
} from 'yaml';
import { canonicalJson, isJsonObject } from '#platform/json';
import { aliasTargets, nameIn } from './frontmatter.parser';
import { FRONTMATTER_NAMES, type FrontmatterMember } from './skill-members';

/** Changes members of a frontmatter and leaves the rest as written. */
export class FrontmatterEditor {
  private readonly targets: ReadonlyMap<Alias, Node>;
  /** The changed mappings. */
  private readonly changed = new Set<Node>();

  constructor(private readonly document: Document) {
    this.targets = aliasTargets(document);
  }

  /** @param value null removes the member */
  put(member: FrontmatterMember, value: unknown): void {
    const isEmpty = member === 'metadata' && isJsonObject(value) && Object.keys(value).length === 0;
    const name = FRONTMATTER_NAMES[member];
    if (value === null || isEmpty) this.remove(this.root(), name);
    else if (member === 'metadata') this.set(this.root(), name, () => this.metadataNode(value as object));
    else if (member === 'allowed_tools') this.putTools(value as string[]);
    else this.set(this.root(), name, (before) => this.nodeOf(value, before));
  }

  /** Changes the members of the metadata that differ. */
  putMetadata(before: object, after: object): void {
    const present = this.root().get(FRONTMATTER_NAMES.metadata);
    if (!isMap(present) || Object.keys(after).length === 0) {
      this.put('metadata', after);
      return;
    }
    const [old, members] = [new Map(Object.entries(before)), new Map<string, unknown>(Object.entries(after))];
    for (const name of old.keys()) if (!members.has(name)) this.remove(present, name);
    for (const [name, value] of members) {
      if (old.has(name) && canonicalJson(old.get(name)) === canonicalJson(value)) continue;
      this.set(present, name, (node) => this.nodeOf(value, node));
    }
  }

  /**
   * Returns whether each remaining alias still has the same value. If not, the edit would also change other members.
   */
  keepsAliases(): boolean {
    const targets = aliasTargets(this.document);
    let isPreserved = true;
    visit(this.document, {
      Alias: (_, alias) => {
        const target = targets.get(alias);
        if (target === undefined || target !== this.targets.get(alias) || this.changed.has(target)) {
          isPreserved = false;
          return visit.BREAK;
        }
        return undefined;
      },
    });
    return isPreserved;
  }

  private root(): YAMLMap {
    return this.document.contents as YAMLMap;
  }

  /** Writes tools as a string, as the format requires. An empty list stays a list, because an empty string means no value. */
  private putTools(tools: readonly string[]): void {
    const value = tools.length > 0 ? tools.join(' ') : [];
    this.set(this.root(), FRONTMATTER_NAMES.allowed_tools, (before) => this.nodeOf(value, before));
  }

  /** Matches names as the API shows them, because `2024` is a number in YAML. */
  private set(map: YAMLMap, name: string, nodeFrom: (before: unknown) => Node): void {
    this.changed.add(map);
    const pair = map.items.find(({ key }) => nameIn(key) === name);
    if (pair) pair.value = nodeFrom(pair.value);
    else map.items.push(new Pair(this.document.createNode(name), nodeFrom(null)));
  }

  private remove(map: YAMLMap, name: string): void {
    this.changed.add(map);
    const at = map.items.findIndex(({ key }) => nameIn(key) === name);
    if (at >= 0) map.items.splice(at, 1);
  }

  /**
   * Creates a new node that keeps the comments and the quotes of the current one. The current node is not reused, because it
   * would write a new number in its own notation, such as `1.0` or `0x1F`.
   */
  private nodeOf(value: unknown, before: unknown): Node {
    const node = this.document.createNode(value, { flow: true });
    if (!isNode(before) || isMap(before)) return node;
    node.commentBefore = before.commentBefore;
    node.spaceBefore = before.spaceBefore;
    if (isScalar(before) || isAlias(before)) node.comment = before.comment;
    if (isScalar(before) && isScalar(node) && typeof value === 'string' && typeof before.value === 'string') {
      node.type = before.type;
    }
    return node;
  }

  /** Writes each member on a separate line. */
  private metadataNode(metadata: object): YAMLMap {
    const node = new YAMLMap(this.document.schema);
    for (const [name, value] of Object.entries(metadata)) {
      // `set` would search all members each time.
      node.items.push(new Pair(this.document.createNode(name), this.nodeOf(value, null)));
    }
    return node;
  }
}
