import type { PageMetaDto } from '#platform/paging';
import { TraceFiguresDto } from '../../telemetry';

/** A trace of an experiment: its figures, and the result that names it. */
export class ExperimentTraceDto extends TraceFiguresDto {
  /** The newest result of the experiment that carries the trace's id; null while no result does. */
  result_id!: string | null;
  case_id!: string | null;
}

export class ExperimentTracePageDto {
  items!: ExperimentTraceDto[];
  page!: PageMetaDto;
}
