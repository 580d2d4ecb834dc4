// Prometheus and Jaeger over their own HTTP interfaces, as far as the dashboards use them.
import {
  DataSourceApi,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceInstanceSettings,
  type MetricFindValue,
  FieldType,
  type ScopedVars,
} from '@grafana/data';
import { sceneGraph, type SceneObject } from '@grafana/scenes';
import { from, type Observable } from 'rxjs';

export interface Sources {
  prometheus: string;
  jaeger: string;
}

type Labels = Record<string, string>;
type Answer = { metric: Labels; value?: [number, string]; values?: Array<[number, string]> };

const SHORTEST_STEP = 15;
const MOST_EXEMPLARS = 60;
/** As the provisioned data source says in `timeInterval`; a run with quicker metrics says so. */
let scrapeInterval = SHORTEST_STEP;

export function setScrapeInterval(seconds: number) {
  scrapeInterval = seconds;
}

async function json(url: string) {
  const answer = await fetch(url);
  const body = await answer.json();
  if (!answer.ok) {
    throw new Error(`${url}: ${JSON.stringify(body)}`);
  }
  return body;
}

function interpolate(text: string, scopedVars: ScopedVars | undefined) {
  const scene = (scopedVars?.__sceneObject as { value?: { valueOf(): SceneObject } } | undefined)?.value?.valueOf();
  return scene ? sceneGraph.interpolate(scene, text, scopedVars, asRegex) : text;
}

// What Grafana's Prometheus data source does to values that stand in a regular expression.
function asRegex(value: unknown): string {
  if (Array.isArray(value)) {
    return value.length === 1 ? escaped(value[0]) : `(${value.map(escaped).join('|')})`;
  }
  return String(value);
}

function escaped(value: unknown) {
  return String(value).replace(/[\\^$*+?.()|[\]{}]/g, '\\\\$&');
}

function filled(text: string, request: { scopedVars?: ScopedVars }, step: number, range: number) {
  return interpolate(
    text
      .replaceAll('$__rate_interval', `${Math.max(step + scrapeInterval, 4 * scrapeInterval)}s`)
      .replaceAll('$__range', `${range}s`),
    request.scopedVars,
  );
}

function legend(format: string | undefined, metric: Labels) {
  if (!format) {
    const rest = Object.entries(metric).filter(([name]) => name !== '__name__');
    return rest.length ? `{${rest.map(([name, value]) => `${name}="${value}"`).join(', ')}}` : 'Value';
  }
  return format.replace(/\{\{\s*([^}\s]+)\s*\}\}/g, (_, name) => metric[name] ?? '');
}

function field(name: string, type: FieldType, values: unknown[], config: object = {}) {
  return { name, type, values, config } as DataFrame['fields'][number];
}

class Prometheus extends DataSourceApi {
  constructor(
    settings: DataSourceInstanceSettings,
    private address: string,
  ) {
    super(settings);
  }

  query(request: DataQueryRequest<any>): Observable<DataQueryResponse> {
    return from(this.all(request));
  }

  async all(request: DataQueryRequest<any>): Promise<DataQueryResponse> {
    const frames = await Promise.all(request.targets.map((target) => this.one(target, request)));
    return { data: frames.flat() };
  }

  private async one(target: any, request: DataQueryRequest): Promise<DataFrame[]> {
    const start = request.range.from.unix();
    const end = request.range.to.unix();
    const step = Math.max(SHORTEST_STEP, Math.ceil((request.intervalMs ?? 15000) / 1000));
    const expr = filled(target.expr, request, step, end - start);
    const query = encodeURIComponent(expr);
    const path = target.instant
      ? `query?query=${query}&time=${end}`
      : `query_range?query=${query}&start=${Math.floor(start / step) * step}&end=${end}&step=${step}`;
    const answers: Answer[] = (await json(`${this.address}/api/v1/${path}`)).data.result;
    log.push({ expr, series: answers.length });
    const frames =
      target.format === 'table'
        ? table(answers, target.refId, request.targets.length)
        : target.format === 'heatmap'
          ? heatmap(answers, target.refId, start, end, step)
          : series(answers, target, target.instant ? undefined : { start: Math.floor(start / step) * step, end, step });
    if (target.exemplar) {
      const found = await json(`${this.address}/api/v1/query_exemplars?query=${query}&start=${start}&end=${end}`);
      frames.push(exemplars(found.data, target.refId));
    }
    return frames;
  }

  async metricFindQuery(query: any, options?: any): Promise<MetricFindValue[]> {
    const text = interpolate(typeof query === 'string' ? query : query.query, options?.scopedVars);
    const labels = /^label_values\((.+),\s*([a-zA-Z_]+)\)$/.exec(text);
    if (labels) {
      const url = `${this.address}/api/v1/label/${labels[2]}/values?match[]=${encodeURIComponent(labels[1])}`;
      return (await json(url)).data.map((value: string) => ({ text: value }));
    }
    const result = /^query_result\((.+)\)$/.exec(text);
    if (!result) {
      throw new Error(`a variable asks ${text}`);
    }
    const answers: Answer[] = (await json(`${this.address}/api/v1/query?query=${encodeURIComponent(result[1])}`)).data
      .result;
    return answers.map(({ metric, value }) => ({
      text: `{${Object.entries(metric)
        .map(([name, label]) => `${name}="${label}"`)
        .join(',')}} ${value?.[1]} ${value?.[0]}`,
    }));
  }

  async testDatasource() {
    return { status: 'success', message: '' };
  }
}

/** What was asked, for the report of a run. */
export const log: Array<{ expr: string; series: number }> = [];

function series(answers: Answer[], target: any, range?: { start: number; end: number; step: number }): DataFrame[] {
  return answers.map(({ metric, value, values }) => {
    const points = new Map((values ?? [value!]).map(([time, text]) => [time, Number(text)]));
    const times = range ? steps(range) : [...points.keys()];
    const name = legend(target.legendFormat, metric);
    const config = { displayNameFromDS: name };
    return {
      refId: target.refId,
      name,
      length: times.length,
      meta: { type: 'timeseries-multi' as any },
      fields: [
        field('Time', FieldType.time, times.map((time) => time * 1000)),
        { ...field('Value', FieldType.number, times.map((time) => points.get(time) ?? null), config), labels: metric },
      ],
    };
  });
}

function steps({ start, end, step }: { start: number; end: number; step: number }) {
  const all = [];
  for (let time = start; time <= end; time += step) {
    all.push(time);
  }
  return all;
}

function table(answers: Answer[], refId: string, queries: number): DataFrame[] {
  const labels = [...new Set(answers.flatMap(({ metric }) => Object.keys(metric)))].sort();
  const value = queries > 1 ? `Value #${refId}` : 'Value';
  return [
    {
      refId,
      length: answers.length,
      fields: [
        field('Time', FieldType.time, answers.map((answer) => answer.value![0] * 1000)),
        ...labels.map((label) => field(label, FieldType.string, answers.map(({ metric }) => metric[label] ?? ''))),
        field(value, FieldType.number, answers.map((answer) => Number(answer.value![1]))),
      ],
    },
  ];
}

function heatmap(answers: Answer[], refId: string, start: number, end: number, step: number): DataFrame[] {
  const sorted = [...answers].sort((a, b) => Number(bound(a)) - Number(bound(b)));
  const times = steps({ start: Math.floor(start / step) * step, end, step });
  const cumulative = sorted.map(({ values }) => {
    const points = new Map(values!.map(([time, text]) => [time, Number(text)]));
    return times.map((time) => points.get(time) ?? 0);
  });
  return [
    {
      refId,
      length: times.length,
      meta: { type: 'heatmap-rows' as any },
      fields: [
        field('Time', FieldType.time, times.map((time) => time * 1000)),
        ...sorted.map((answer, row) =>
          field(
            answer.metric.le,
            FieldType.number,
            cumulative[row].map((value, at) => Math.max(0, value - (row ? cumulative[row - 1][at] : 0))),
          ),
        ),
      ],
    },
  ];
}

function bound({ metric }: Answer) {
  return metric.le === '+Inf' ? Infinity : metric.le;
}

function exemplars(found: any[], refId: string): DataFrame {
  const all = found.flatMap(({ exemplars: points }: any) => points);
  // Grafana shows a sample of them, too.
  const points = all.filter((_, at) => at % Math.ceil(all.length / MOST_EXEMPLARS) === 0);
  return {
    refId,
    name: 'exemplar',
    length: points.length,
    meta: { dataTopic: 'annotations' as any, custom: { resultType: 'exemplar' } },
    fields: [
      field('Time', FieldType.time, points.map((point) => point.timestamp * 1000)),
      field('Value', FieldType.number, points.map((point) => Number(point.value))),
      field('trace_id', FieldType.string, points.map((point) => point.labels.trace_id)),
    ],
  };
}

class Jaeger extends DataSourceApi {
  constructor(
    settings: DataSourceInstanceSettings,
    private address: string,
  ) {
    super(settings);
  }

  query(request: DataQueryRequest<any>): Observable<DataQueryResponse> {
    return from(this.all(request));
  }

  private async all(request: DataQueryRequest<any>): Promise<DataQueryResponse> {
    return { data: await Promise.all(request.targets.map((target) => this.search(target, request))) };
  }

  private async search(target: any, request: DataQueryRequest): Promise<DataFrame> {
    const tags = Object.fromEntries(
      interpolate(target.tags, request.scopedVars)
        .split(' ')
        .filter(Boolean)
        .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    );
    const wanted = new URLSearchParams({
      service: interpolate(target.service, request.scopedVars),
      operation: target.operation,
      tags: JSON.stringify(tags),
      limit: String(target.limit),
      start: String(request.range.from.valueOf() * 1000),
      end: String(request.range.to.valueOf() * 1000),
    });
    const traces: any[] = (await json(`${this.address}/api/traces?${wanted}`)).data ?? [];
    log.push({ expr: `jaeger ${wanted.get('service')} ${wanted.get('tags')}`, series: traces.length });
    const rows = traces
      .map(({ traceID, spans, processes }) => {
        const first = spans.reduce((a: any, b: any) => (a.startTime <= b.startTime ? a : b));
        const end = Math.max(...spans.map((span: any) => span.startTime + span.duration));
        return {
          traceID,
          traceName: `${processes[first.processID].serviceName}: ${first.operationName}`,
          startTime: first.startTime / 1000,
          duration: end - first.startTime,
        };
      })
      .sort((a, b) => b.startTime - a.startTime);
    const column = (name: keyof (typeof rows)[number], type: FieldType, shown: string) =>
      field(name, type, rows.map((row) => row[name]), { displayNameFromDS: shown });
    return {
      refId: target.refId,
      length: rows.length,
      fields: [
        column('traceID', FieldType.string, 'Trace ID'),
        column('traceName', FieldType.string, 'Trace name'),
        column('startTime', FieldType.time, 'Start time'),
        column('duration', FieldType.number, 'Duration'),
      ],
    };
  }

  async testDatasource() {
    return { status: 'success', message: '' };
  }
}

/** The two data sources under the names by which Grafana's service hands them out. */
export function makeSources(addresses: Sources) {
  const settings = (type: string, name: string) =>
    ({
      id: 1,
      uid: `here-${type}`,
      type,
      name,
      access: 'proxy',
      readOnly: true,
      jsonData: {},
      meta: { id: type, name, type: 'datasource', info: { logos: { small: '', large: '' } }, metrics: true },
    }) as unknown as DataSourceInstanceSettings;
  return {
    prometheus: new Prometheus(settings('prometheus', 'Prometheus'), addresses.prometheus),
    jaeger: new Jaeger(settings('jaeger', 'Jaeger'), addresses.jaeger),
    settings: { prometheus: settings('prometheus', 'Prometheus'), jaeger: settings('jaeger', 'Jaeger') },
  };
}
