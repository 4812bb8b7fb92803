// Ticks and labels for numbers and for points in time (milliseconds since 1970, in UTC).

const DAY = 86400000;

function niceStep(span, wanted) {
  const raw = span / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= raw) return factor * power;
  return 10 * power;
}

function numberTicks(low, high, wanted, format) {
  if (!(high > low)) return [[low, format(low)]];
  const step = niceStep(high - low, wanted);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) {
    const value = Number((k * step).toPrecision(12));
    ticks.push([value, format(value)]);
  }
  return ticks;
}

function formatNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(1).replace("e+", "e");
  if (size >= 1e6) return Number((value / 1e6).toPrecision(4)) + "M";
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 });
}

function formatSeconds(value) {
  const total = Math.round(Math.abs(value));
  const parts = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return (value < 0 ? "−" : "") + parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function formatDuration(value) {
  if (Math.abs(value) >= 2 * 86400) return formatNumber(Number((value / 86400).toPrecision(3))) + " d";
  return formatSeconds(value);
}

// Whole years, months or days where the span allows, else steps within the day.
function dateTicks(low, high, wanted) {
  const span = (high - low) / DAY;
  const iso = (time, length) => new Date(time).toISOString().slice(0, length);
  if (span < 3) return numberTicks(low, high, wanted, (time) => iso(time, 16).replace("T", " "));
  if (span < 120) {
    const step = Math.max(1, Math.round(niceStep(span, wanted)));
    const first = Math.ceil(low / DAY);
    const days = Array.from({ length: Math.floor((high / DAY - first) / step) + 1 }, (_, k) => (first + k * step) * DAY);
    return days.map((time) => [time, iso(time, 10)]);
  }
  const months = [1, 2, 3, 6].find((m) => span / 30.4 / m <= wanted) || 12 * Math.max(1, Math.ceil(span / 365 / wanted));
  const ticks = [];
  const start = new Date(low);
  for (let k = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months); ticks.length < 20; k += 1) {
    const time = monthStart(k * months);
    if (time > high) break;
    if (time >= low) ticks.push([time, iso(time, months >= 12 ? 4 : 7)]);
  }
  return ticks;
}

function monthStart(months) {
  const date = new Date(0);
  date.setUTCFullYear(Math.floor(months / 12), months % 12, 1);
  return date.getTime();
}

function axisTicks(axis, low, high, wanted) {
  if (axis === "time") return dateTicks(low, high, wanted);
  if (axis === "clock") return numberTicks(low, high, wanted, formatSeconds);
  if (axis === "duration") return numberTicks(low, high, wanted, formatDuration);
  return numberTicks(low, high, wanted, formatNumber);
}
