# SPDX-License-Identifier: Apache-2.0
"""Windows of time: their texts, days of the week and time zones."""

import datetime
import zoneinfo

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.conf.windows import Window

DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
DAY = datetime.timedelta(days=1)
ZONES = strategies.sampled_from((
    'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe',
    'Asia/Kathmandu', 'Pacific/Apia', 'UTC'))
TIMES = strategies.times().map(lambda time: (time.hour, time.minute))


def at(text):
    return datetime.datetime.fromisoformat(text)


def begun_on_one_of_its_days(days, begin, end, here):
    """Whether a clock is in a window, by the days on which it could begin.

    :param here: what the clock shows, without a time zone
    """
    for day in (here.date(), here.date() - DAY):
        first = datetime.datetime.combine(day, datetime.time(*begin))
        last = datetime.datetime.combine(day, datetime.time(*end))
        if last <= first:
            last += DAY
        if day.weekday() in days and first <= here < last:
            return True
    return False


@ddt.ddt
class WindowTest(testtools.TestCase):

    @ddt.data(
        ('11:00-13:00', '12:59', True), ('11:00-13:00', '13:00', False),
        ('22:00-06:00', '23:00', True), ('22:00-06:00', '05:59', True),
        ('22:00-06:00', '06:00', False), ('00:00-24:00', '23:59', True),
        ('14:00-14:00', '13:59', True))
    @ddt.unpack
    def test_times_of_every_day(self, text, time, inside):
        self.assertIs(inside, Window.parse(text).has(
            at(f'2027-01-15T{time}:00Z')))

    @ddt.data(
        ('2027-01-15T22:00+01:00', True), ('2027-01-15T21:59+01:00', False),
        ('2027-01-16T05:59+01:00', True),  # the night of a Friday
        ('2027-01-16T23:00+01:00', False), ('2027-01-18T05:00+01:00', False),
        ('2027-07-15T20:00+00:00', True), ('2027-07-15T19:59+00:00', False))
    @ddt.unpack
    def test_nights_of_working_days_in_berlin(self, time, inside):
        window = Window.parse('Mon-Fri  22:00-06:00 Europe/Berlin')
        self.assertIs(inside, window.has(at(time)))

    def test_days_over_the_end_of_a_week(self):
        self.assertEqual({4, 5, 6, 0}, Window.parse(
            'fri-mon 01:00-02:00').days)

    @hypothesis.given(
        strategies.integers(0, 6).map(lambda day: {day})
        | strategies.just({0, 1, 2, 3, 4}), TIMES, TIMES, ZONES,
        strategies.datetimes(datetime.datetime(2020, 1, 2),
                             datetime.datetime(2035, 1, 1)))
    def test_it_goes_by_what_the_clock_there_shows(
            self, days, begin, end, zone, moment):
        """Also on the days when summer begins or ends."""
        now = moment.replace(tzinfo=datetime.UTC)
        here = now.astimezone(zoneinfo.ZoneInfo(zone)).replace(tzinfo=None)
        named = '-'.join(DAYS[day] for day in sorted({min(days), max(days)}))
        window = Window.parse('{} {:02}:{:02}-{:02}:{:02} {}'.format(
            named, *begin, *end, zone))
        self.assertIs(begun_on_one_of_its_days(days, begin, end, here),
                      window.has(now))

    @hypothesis.given(TIMES, TIMES, ZONES, strategies.dates(
        datetime.date(2020, 1, 2), datetime.date(2034, 12, 30)))
    def test_it_is_open_for_its_length_where_clocks_do_not_change(
            self, begin, end, zone, day):
        """And else for one change more or less: of 30 minutes to a day."""
        zone = zoneinfo.ZoneInfo(zone)
        window = Window.parse('{:02}:{:02}-{:02}:{:02} {}'.format(
            *begin, *end, zone.key))
        noon = datetime.datetime.combine(
            day, datetime.time(12), zone).astimezone(datetime.UTC)
        minutes = [noon + datetime.timedelta(minutes=n) for n in range(1440)]
        offsets = {each.astimezone(zone).utcoffset() for each in minutes}
        length = ((end[0] - begin[0]) * 60 + end[1] - begin[1] - 1) % 1440 + 1
        found = sum(map(window.has, minutes))
        change = int((max(offsets) - min(offsets)).total_seconds() / 60)
        self.assertLessEqual(abs(found - length), change)

    @ddt.data('22-06', '', 'mon', '22:00-24:01', '24:00-06:00', '9:00-10:00',
              'noon-mon 22:00-06:00', 'mon,tue 22:00-06:00',
              '22:00-06:00 Europe/Berlin x')
    def test_what_is_no_window(self, text):
        said = self.assertRaises(ValueError, Window.parse, text)
        self.assertIn('mon-fri 22:00-06:00 Europe/Berlin', str(said))

    @ddt.data('Europe/Berln', '../etc/passwd', '/etc/passwd', 'Europe')
    def test_no_time_zone(self, zone):
        said = self.assertRaises(
            ValueError, Window.parse, f'22:00-06:00 {zone}')
        self.assertIn(f'no time zone {zone}', str(said))
