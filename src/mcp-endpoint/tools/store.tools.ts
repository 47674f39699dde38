import { Injectable } from '@nestjs/common';
import { toJsonText } from '#platform/json';
import { type CatalogueItemDto, CatalogueService, CATEGORIES, StoreItemListQueryDto } from '../../store';
import { itemOf, LIST_OFFSET_INPUT, listTool, NEXT_LIST_OFFSET, partOfLists } from './lists';
import { ID, INTEGER, objectOf, STRING, STRING_OR_NULL, tool } from './tool';

const STRINGS = { type: 'array', items: STRING };

const ITEM = {
  store_item_id: STRING,
  name: STRING,
  category: { enum: CATEGORIES },
  tagline: STRING_OR_NULL,
  license: STRING,
  actions: STRINGS,
  topics: STRINGS,
  version_label: STRING_OR_NULL,
  is_reviewed: { type: 'boolean' },
};

/** The tools that read the store. */
@Injectable()
export class StoreTools {
  constructor(private readonly catalogue: CatalogueService) {}

  readonly tools = [
    listTool({
      name: 'list_store_items',
      title: 'List store items',
      description:
        'Lists items that your organization can install from the store (marketplace): agents, skills, tools and data that others publish, newest first. Use it when the workspace itself lacks what you need. Then call get_store_item for one. A person acquires items through the API.',
      filters: { category: { enum: CATEGORIES }, topic: { type: 'string', maxLength: 255 } },
      anyOf: ['viewer'],
      item: ITEM,
      query: StoreItemListQueryDto,
      list: async ({ scope }, query) => {
        const { items, page } = await this.catalogue.list(scope, query);
        return { items: items.map(withDefaults), page };
      },
    }),
    tool<{ store_item_id: string; list_offset?: number }>({
      name: 'get_store_item',
      title: 'Get a store item',
      description:
        'Returns one item of the store: its publisher, license, content, and for an agent what it can do and which permissions it needs.',
      input: {
        store_item_id: { ...ID, description: 'From list_store_items or search_registry.' },
        ...LIST_OFFSET_INPUT,
      },
      required: ['store_item_id'],
      output: {
        ...ITEM,
        publisher_org_id: STRING,
        highlights: STRINGS,
        release_notes: STRING_OR_NULL,
        can_acquire: { type: 'boolean' },
        size_bytes: INTEGER,
        file_count: INTEGER,
        components: {
          type: 'array',
          items: objectOf({ kind: STRING, key: STRING }),
          description: 'The resources of its package.',
        },
        capabilities: { type: 'array', items: objectOf({ kind: STRING, name: STRING }) },
        required_permissions: STRINGS,
        next_list_offset: NEXT_LIST_OFFSET,
      },
      anyOf: ['viewer'],
      run: async ({ scope, args }) => {
        const item = plain(await this.catalogue.get(scope, args.store_item_id));
        const { capabilities = [], required_permissions = [] } = item.agent_profile ?? {};
        const lists = {
          components: item.manifest.components.map(({ key, source }) => ({ kind: source.kind, key })),
          capabilities: capabilities.map(({ kind, name }) => ({ kind, name })),
          required_permissions,
        };
        return {
          ...itemOf(withDefaults(item), ITEM),
          tagline: item.tagline ?? null,
          publisher_org_id: item.publisher_org_id,
          highlights: item.highlights ?? [],
          release_notes: item.release_notes ?? null,
          can_acquire: item.policy.can_acquire,
          size_bytes: item.size_bytes,
          file_count: item.file_count,
          ...partOfLists(lists, args.list_offset),
        };
      },
    }),
  ];
}

/** Returns an item with its JSON columns as values. */
const plain = (item: CatalogueItemDto): CatalogueItemDto => JSON.parse(toJsonText(item)) as CatalogueItemDto;

const withDefaults = (item: CatalogueItemDto): CatalogueItemDto => ({
  ...item,
  topics: item.topics ?? [],
  is_reviewed: item.is_reviewed ?? false,
});
