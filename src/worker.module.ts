/** The areas, as the worker loads them: their processors, and no controller. */
export const WORKER_AREAS = [];
