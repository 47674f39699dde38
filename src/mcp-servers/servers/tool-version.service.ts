import { orNotFound } from '#platform/problem';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Versioned } from '#platform/http';
import {
  type HiddenCharacters,
  hiddenCharacters,
  type JsonChange,
  type JsonChanges,
  jsonChanges,
  RawJson,
} from '#platform/json';
import { type OrderedListQueryDto, type Page, toPage } from '#platform/paging';
import { ServerService } from './server.service';
import { ToolStore } from './tool-store';
import type { ToolVersionRow } from './tool.entity';
import { unifiedDiff } from './text-diff';
import {
  type HiddenCharactersDto,
  toComparedVersionDto,
  type ToolChangeDto,
  type ToolDiffDto,
  type ToolJsonChangeDto,
  toToolVersionDto,
  type ToolVersionDto,
} from './tool-version.dto';

const TEXTS = ['name', 'title', 'description'] as const;
const JSONS = ['input_schema', 'output_schema', 'annotations'] as const;

/** The versions of tools, so that people can review what a server changed about a tool that agents use. */
@Injectable()
export class ToolVersionService {
  constructor(
    private readonly servers: ServerService,
    private readonly tools: ToolStore,
  ) {}

  async list(
    scope: OrgScope,
    serverId: string,
    toolId: string,
    query: OrderedListQueryDto,
  ): Promise<Page<ToolVersionDto>> {
    await this.servers.findToolOf(scope, serverId, toolId);
    return toPage(await this.tools.versions.list(scope.orgKey, toolId, query), toToolVersionDto);
  }

  async get(
    scope: OrgScope,
    serverId: string,
    toolId: string,
    ordinal: number,
  ): Promise<Versioned<ToolVersionDto>> {
    await this.servers.findToolOf(scope, serverId, toolId);
    return new Versioned(toToolVersionDto(await this.find(scope, toolId, ordinal)), ordinal);
  }

  /** Compares two versions. The second one may be the older one. Errors: 404. */
  async diff(
    scope: OrgScope,
    serverId: string,
    toolId: string,
    from: number,
    to: number,
  ): Promise<ToolDiffDto> {
    await this.servers.findToolOf(scope, serverId, toolId);
    const before = await this.find(scope, toolId, from);
    const after = await this.find(scope, toolId, to);
    const values = JSONS.map((member) => {
      const [from, to] = [before, after].map((version) => version[member]?.parseExactly());
      return { member, to, ...jsonChanges(from, to) };
    });
    const hidden = [
      ...TEXTS.map((member) => hiddenIn(member, hiddenCharacters(after[member]))),
      ...values.map(({ member, to }) => hiddenIn(member, hiddenCharacters(to))),
    ];
    const changes = [
      ...TEXTS.map((member) => textChange(member, before[member], after[member])),
      ...values.flatMap(jsonChange),
    ];
    return {
      tool_id: toolId,
      from: toComparedVersionDto(before),
      to: { ...toComparedVersionDto(after), hidden_characters: hidden.flat() },
      is_identical: before.digest === after.digest,
      changes: changes.flat(),
    };
  }

  private async find(scope: OrgScope, toolId: string, ordinal: number): Promise<ToolVersionRow> {
    const row = await this.tools.versions.find(scope.orgKey, toolId, ordinal);
    return orNotFound(row, 'tool version', String(ordinal));
  }
}

const hiddenIn = (member: string, hidden: HiddenCharacters | null): HiddenCharactersDto[] =>
  hidden ? [{ member, ...hidden }] : [];

const textChange = (member: string, before: string | null, after: string | null): ToolChangeDto[] =>
  before === after ? [] : [{ member, kind: 'text', before, after, diff: unifiedDiff(before, after) }];

function jsonChange({ member, changes, isTruncated }: JsonChanges & { member: string }): ToolChangeDto[] {
  if (changes.length === 0 && !isTruncated) return [];
  return [{ member, kind: 'json', changes: changes.map(toJsonChangeDto), is_truncated: isTruncated }];
}

const toJsonChangeDto = ({ pointer, op, before, after }: JsonChange): ToolJsonChangeDto => ({
  pointer,
  op,
  ...(before !== undefined && { before: new RawJson(before) }),
  ...(after !== undefined && { after: new RawJson(after) }),
});
