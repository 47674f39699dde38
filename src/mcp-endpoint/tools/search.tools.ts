import { Injectable } from '@nestjs/common';
import { validateBody } from '#platform/http';
import { SearchDto, SearchService } from '../../registry';
import { SEARCH_TYPES } from '../../resources';
import { itemOf, LIST_DEFAULT, LIST_INPUT } from './lists';
import { objectOf, STRING, STRING_OR_NULL, tool } from './tool';

interface SearchArguments {
  query: string;
  types?: string[];
  limit?: number;
  offset?: number;
}

const HIT = {
  type: { enum: SEARCH_TYPES },
  id: STRING,
  name: STRING,
  description: STRING_OR_NULL,
};

/** The tool that searches the registry. */
@Injectable()
export class SearchTools {
  constructor(private readonly searches: SearchService) {}

  readonly tools = [
    tool<SearchArguments>({
      name: 'search_registry',
      title: 'Search the registry',
      description:
        'Finds agents, skills, MCP servers, tools, files, apps, repositories, APIs and store items of the workspace by words and by similarity. Use it first when you need something and do not know its id. Then read a hit by its type, with its id: get_skill, get_agent, list_mcp_tools, get_mcp_tool, read_file or get_store_item. Run a tool with call_mcp_tool. It searches names and descriptions. It does not search the contents of files (use list_files and read_file), nor datasets, experiments and scorers (use their lists).',
      input: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description: 'What you look for, in a few words.',
        },
        types: {
          type: 'array',
          items: { enum: SEARCH_TYPES },
          minItems: 1,
          maxItems: SEARCH_TYPES.length,
          description: 'Only these types. Default: all.',
        },
        limit: LIST_INPUT.limit,
        offset: {
          type: 'integer',
          minimum: 0,
          maximum: 10_000,
          description: 'next_offset of the previous page.',
        },
      },
      required: ['query'],
      output: {
        items: { type: 'array', items: objectOf(HIT) },
        next_offset: { type: ['integer', 'null'], description: 'Null on the last page.' },
      },
      anyOf: ['viewer'],
      run: async ({ scope, caller, args: { query, types, limit = LIST_DEFAULT, offset = 0 } }) => {
        const dto = validateBody(SearchDto, {
          query,
          ...(types && { types }),
          workspace_id: scope.workspaceId,
          limit: limit + 1,
          offset,
        });
        const { items } = await this.searches.search(scope, dto, caller.signal);
        return {
          items: items.slice(0, limit).map((hit) => itemOf(hit, HIT)),
          next_offset: items.length > limit ? offset + limit : null,
        };
      },
    }),
  ];
}
