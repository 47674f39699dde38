import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import type { IncomingRequest, Versioned } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { narrowScope } from '../../resources';
import { isArchiveMedia, readUpload, type SpooledUpload } from '../upload/skill-upload';
import {
  CreateSkillDto,
  type CreateSkillQueryDto,
  type SkillDto,
  type SkillUploadQueryDto,
} from './skill.dto';
import { SkillService } from './skill.service';
import { CreateSkillVersionDto, type SkillVersionDetailDto } from './skill-version.dto';

/** The number of uploads per organization that a process handles at once. Each may hold about 130 MiB. */
const CONCURRENT_UPLOADS = 2;
const WAITING_UPLOADS_MAX = 50;

/** Creates skills and versions from uploaded directories and from JSON. */
@Injectable()
export class SkillUploadService {
  private readonly limiter = new FairLimiter({
    share: CONCURRENT_UPLOADS,
    maxWaiting: WAITING_UPLOADS_MAX,
  });

  constructor(private readonly skills: SkillService) {}

  /** Errors: those of `readUpload` and `SkillService.create`; 503 `service_overloaded` when too many uploads wait. */
  create(
    scope: OrgScope,
    request: IncomingRequest,
    query: CreateSkillQueryDto,
    signal: AbortSignal,
  ): Promise<Versioned<SkillDto>> {
    return this.limit(scope, request, signal, async (spooled) => {
      const upload = await readUpload(spooled, query, CreateSkillDto);
      const { workspaceId } = upload;
      if (workspaceId === undefined) {
        throw problem.invalidField('/workspace_id', 'is required');
      }
      const checkClient = (): void => spooled.file.checkOpen();
      return this.skills.create(scope, workspaceId, upload, checkClient, query.on_conflict);
    });
  }

  /** Errors: those of `readUpload` and `SkillService.addVersion`; 503 `service_overloaded` when too many uploads wait. */
  addVersion(
    scope: OrgScope,
    id: string,
    request: IncomingRequest,
    query: SkillUploadQueryDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<{ view: SkillVersionDetailDto; isNew: boolean }> {
    return this.limit(scope, request, signal, async (spooled) => {
      const upload = await readUpload(spooled, query, CreateSkillVersionDto);
      return this.skills.addVersion(scope, id, upload, ifMatch, () => spooled.file.checkOpen());
    });
  }

  /** Receives an upload, and runs `work` with it when its turn comes. */
  private async limit<Result>(
    scope: OrgScope,
    request: IncomingRequest,
    signal: AbortSignal,
    work: (upload: SpooledUpload) => Promise<Result>,
  ): Promise<Result> {
    const file = await request.spool();
    // The workspace is not known yet, because it is in the body.
    const owner = narrowScope(scope, '');
    return this.limiter.run(owner, signal, async () => {
      try {
        return await work({ request, file });
      } catch (error) {
        throw isArchiveMedia(request.mediaType) && error instanceof Problem ? toQueryProblem(error) : error;
      }
    });
  }
}

/** Reports a problem with the workspace of a zip upload as one of the query, because zip uploads name the workspace there. */
function toQueryProblem(error: Problem): Problem {
  const [first] = error.errors ?? [];
  if (!first || !('pointer' in first) || first.pointer !== '/workspace_id') return error;
  const errors = [{ parameter: 'workspace_id', detail: first.detail }];
  return error.code === 'invalid_request' ? problem.invalidQueries(errors) : problem.validationFailed(errors);
}
