import {
  type EndpointTool,
  type JsonSchema,
  objectOf,
  tool,
  type ToolCall,
  type ToolDeclaration,
} from './tool';

/** The default and the maximum number of items on a page. */
export const LIST_DEFAULT = 20;
const LIST_MAX = 50;

/** The maximum length of a description in a list, in characters. Reading the item returns the full description. */
const SUMMARY_MAX = 300;

/** The arguments of every list. */
export interface ListArguments {
  limit?: number;
  cursor?: string | undefined;
}

export const LIST_INPUT = {
  limit: { type: 'integer', minimum: 1, maximum: LIST_MAX, default: LIST_DEFAULT },
  cursor: { type: 'string', maxLength: 2048, description: 'next_cursor of the previous page.' },
} satisfies Record<string, JsonSchema>;

const QUERY_INPUT = {
  q: {
    type: 'string',
    maxLength: 1000,
    description: 'Words or word prefixes in the name or description.',
  },
} satisfies Record<string, JsonSchema>;

/** Returns the output members of a list. */
export const listOutput = (item: Record<string, JsonSchema>): Record<string, JsonSchema> => ({
  items: { type: 'array', items: objectOf(item) },
  next_cursor: {
    type: ['string', 'null'],
    description: 'Pass it as cursor for the next page. Null on the last page.',
  },
});

/** Returns the query for a page of a list of another area. */
export const pageQuery = <Query extends object>(
  type: new () => Query,
  { limit = LIST_DEFAULT, cursor }: ListArguments,
  filters: { [Filter in keyof Query]?: Query[Filter] | undefined } = {},
): Query => Object.assign(new type(), defined({ ...filters, limit, cursor }));

/** Members of a view that a tool returns, with their schemas. */
type Members<Member extends string> = Readonly<Record<Member, JsonSchema>>;

/** Returns these members of a view. Absent members are null. */
export const membersOf = <View extends object, Member extends keyof View & string>(
  view: View,
  members: Members<Member>,
): object =>
  Object.fromEntries(Object.keys(members).map((member) => [member, view[member as Member] ?? null]));

/** The declaration of a tool that lists resources. */
interface ListDeclaration<Query extends object, Item extends object, Member extends string> extends Pick<
  ToolDeclaration<ListArguments>,
  'name' | 'title' | 'description' | 'anyOf' | 'areas'
> {
  /** The arguments that narrow the list, other than `q`. They are members of the query. */
  filters?: Record<string, JsonSchema>;
  /** The members of an item. */
  item: Members<Member>;
  query: new () => Query;
  list: (
    call: ToolCall<ListArguments>,
    query: Query,
  ) => Promise<{ items: readonly Item[]; page: { next_cursor: string | null } }>;
}

/** Creates a tool that lists resources of another area, and finds them by words in `q`. */
export const listTool = <Query extends object, Item extends object, Member extends keyof Item & string>({
  filters,
  item,
  query,
  list,
  ...declared
}: ListDeclaration<Query, Item, Member>): EndpointTool =>
  tool<ListArguments>({
    ...declared,
    input: { ...QUERY_INPUT, ...filters, ...LIST_INPUT },
    output: listOutput(item),
    run: async (call) => {
      const { limit: _, cursor: __, ...narrow } = call.args;
      return listResult(await list(call, pageQuery(query, call.args, narrow as Partial<Query>)), item);
    },
  });

/** Members whose texts are shortened in lists. */
const TEXTS: readonly string[] = ['description', 'tagline', 'reasoning', 'error'];

/** Returns these members of an item of a list. */
export const itemOf = <View extends object, Member extends keyof View & string>(
  view: View,
  members: Members<Member>,
): object =>
  Object.fromEntries(
    Object.entries(membersOf(view, members)).map(([member, value]: [string, unknown]) =>
      TEXTS.includes(member) ? [member, summaryOf(value as string | null)] : [member, value],
    ),
  );

/** Returns a page with these members of its items. */
export const listResult = <Item extends object, Member extends keyof Item & string>(
  { items, page }: { items: readonly Item[]; page: { next_cursor: string | null } },
  members: Members<Member>,
) => ({ items: items.map((item) => itemOf(item, members)), next_cursor: page.next_cursor });

/** The maximum number of items that a call returns of each list within a resource, such as the files of a skill. */
export const PART_MAX = 100;

export const LIST_OFFSET_INPUT = {
  list_offset: {
    type: 'integer',
    minimum: 0,
    maximum: 100_000,
    description: 'next_list_offset of the previous call, to continue its lists.',
  },
} satisfies Record<string, JsonSchema>;

export const NEXT_LIST_OFFSET: JsonSchema = {
  type: ['integer', 'null'],
  description: `Lists have at most ${PART_MAX} items. Pass it as list_offset for the next items. Null at the end.`,
};

/** Returns a part of each list, and the offset of the next part. */
export function partOfLists<Lists extends Record<string, readonly unknown[]>>(
  lists: Lists,
  offset = 0,
): Lists & { next_list_offset: number | null } {
  const end = offset + PART_MAX;
  const parts = Object.entries(lists).map(([name, list]) => [name, list.slice(offset, end)]);
  const hasMore = Object.values(lists).some(({ length }) => length > end);
  return { ...(Object.fromEntries(parts) as Lists), next_list_offset: hasMore ? end : null };
}

/** Shortens the text of an item of a list. */
const summaryOf = (text: string | null): string | null =>
  text !== null && text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX - 1).trimEnd()}…` : text;

const defined = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
